#pragma once

// The tree of the hive as pid 1 knows it: from a list of all agents, kept up to date by their lives
// and deaths.

#include <cstdint>
#include <map>
#include <optional>
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
  // A list of all agents was asked for. It may lack the changes from now on.
  void expect_list() {
    expects_list_ = true;
    changes_.clear();
  }
  // Replaces everything by this list, and makes the changes since it was asked for once more.
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
  struct Change {
    std::optional<Member> reserved;
    LifeEvent event{};  // counts if nothing was reserved
  };
  void note(Change change);
  void make(const Change& change);
  // The children go to their next ancestor, to `heir` if the agent is not known any more.
  void drop(Pid pid, Pid heir);

  std::map<Pid, Member> members_;
  bool expects_list_ = false;
  std::vector<Change> changes_;  // since the list was asked for
};

}  // namespace beeline::steward
