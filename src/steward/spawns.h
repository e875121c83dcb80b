#pragma once

// Requests to start a child: the rules, the defaults, and the answers.

#include <string>
#include <string_view>

#include <beeline/message.h>
#include <beeline/processes.h>
#include <beeline/result.h>

#include "src/steward/caller.h"
#include "src/steward/family.h"
#include "src/steward/launcher.h"
#include "src/steward/letters.h"
#include "src/steward/nursery.h"
#include "src/steward/roster.h"
#include "src/steward/store.h"
#include "src/steward/waits.h"

namespace beeline::steward {

class Spawns {
 public:
  struct Parts {
    Family& family;
    Roster& roster;
    Launcher& launcher;
    Nursery& nursery;
    Letters& letters;
    Store& store;
  };
  explicit Spawns(const Parts& parts) : parts_(parts) {}

  // Starts the child that this message asks for, unless that was done before. The message is
  // answered now or later.
  void handle(const Caller& caller, SpawnOptions options, Message message);
  // Starts a child of the start file. Errors: those of the rules and of Nursery::start().
  [[nodiscard]] Result<Child*> start(const Caller& caller, SpawnOptions options,
                                     const std::string& file_spec);

  // For the Nursery.
  void hear_ready(Child& child);
  void hear_failed(Child& child, const Error& error);

 private:
  // The child as it will be, with every default. Errors: those of check_spawn(), kInvalid.
  [[nodiscard]] Result<Child> complete(const Caller& caller, SpawnOptions options);
  [[nodiscard]] Result<Pid> find_parent(const Caller& caller, const std::string& text) const;
  // True if it or an agent above it was asked to end.
  [[nodiscard]] bool is_ending(Pid pid) const;
  [[nodiscard]] std::uint32_t count_children(Pid pid) const;
  void answer_all(Child& child, const std::string& text);

  Parts parts_;
  Waits waits_;
};

}  // namespace beeline::steward
