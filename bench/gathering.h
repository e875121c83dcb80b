#pragma once
// A hive with a lead and its members, gathered one after the other.

#include <optional>

#include "bench/crowd.h"
#include "tools/beeline/scratch_hive.h"

namespace beeline::bench {

// The processes of a hive that are not our agents.
struct Keepers {
  pid_t keeper = 0;
  pid_t coordinator = 0;
};

class Gathering {
 public:
  // The work of the lead once it has its members; it gets the page, its agent and their peers.
  using Lead = std::function<Result<void>(CrowdPage&, Agent&, const std::vector<Peer>&)>;

  // Starts a hive and the lead, which runs `first` once it has its first member, and `then` once
  // it has `members`. Errors: kSystem, those of Agent.
  [[nodiscard]] static Result<Gathering> start(const Case& what, std::size_t members,
                                               const Lead& first, const Lead& then);

  // Starts the next member and waits until the lead knows it.
  [[nodiscard]] Result<void> add(const Hear& hear);
  // Adds all missing members.
  [[nodiscard]] Result<void> add_all(const Hear& hear);
  // An agent that is no member says hello to the lead, and leaves; waits for the lead's next step.
  [[nodiscard]] Result<void> say_hello();
  // Waits for all ends, and takes the hive down.
  [[nodiscard]] Result<void> close();

  [[nodiscard]] Crowd& crowd() { return crowd_; }
  [[nodiscard]] const Keepers& keepers() const { return keepers_; }
  [[nodiscard]] std::int64_t hive_start_ns() const { return hive_start_ns_; }
  // Process of a member; 0: the first.
  [[nodiscard]] pid_t member(std::size_t number) const { return crowd_.processes()[number + 1]; }
  [[nodiscard]] pid_t lead() const { return crowd_.processes()[0]; }

 private:
  Gathering(cli::ScratchHive hive, Crowd crowd, const Case& what, std::size_t members)
      : hive_(std::move(hive)), crowd_(std::move(crowd)), what_(what), members_(members) {}

  cli::ScratchHive hive_;
  Crowd crowd_;
  Case what_;
  std::size_t members_;
  std::size_t started_ = 0;
  Keepers keepers_;
  std::int64_t hive_start_ns_ = 0;
};

}  // namespace beeline::bench
