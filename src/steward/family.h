#pragma once

// The tree of the hive as pid 1 knows it: from a list of all agents, kept up to date by their lives
// and deaths.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/king.h>
#include <beeline/registry.h>
#include <beeline/types.h>

namespace beeline::steward {

struct Member {
  Pid pid = 0;
  Pid parent = 0;
  std::string name{};
  std::string role{};
  std::uint32_t uid = 0;
  bool is_temporary = false;
  bool is_complete = false;  // role, user and kind are known
  bool has_lived = false;    // a process has attached as it
  bool was_ready = false;    // a process has finished its attach
  State state = State::kIdle;

  [[nodiscard]] bool has_process() const {
    return state != State::kZombie && state != State::kDead;
  }
};

class Family {
 public:
  // Replaces everything.
  void replace(const std::vector<AgentInfo>& agents);
  // An agent that pid 1 has just reserved.
  void add(const Member& member);
  void follow(const LifeEvent& event);
  void remove(Pid pid);

  // Null: there is none.
  [[nodiscard]] const Member* find(Pid pid) const;
  // A pid in decimal, or a name: its newest holder, and of these one with a process first.
  [[nodiscard]] const Member* find(std::string_view text) const;
  // Its ancestors, the nearest first, end in 1.
  [[nodiscard]] bool is_below(Pid pid, Pid ancestor) const;
  // Zombies and the dead among them.
  [[nodiscard]] std::vector<Pid> children_of(Pid pid) const;
  // All below `pid` by level: the children first.
  [[nodiscard]] std::vector<std::vector<Pid>> levels_below(Pid pid) const;

 private:
  std::map<Pid, Member> members_;
};

}  // namespace beeline::steward
