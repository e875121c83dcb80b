#pragma once
// How this agent leaves the hive: it waits until all is drained that it owes, says farewell, and
// takes nothing more. In one call, or a step with each look of a user that waits outside.

#include <cstdint>
#include <optional>

#include <beeline/types.h>

#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/control/client.h"

namespace beeline {

class Debts;
class Escalations;
class OpenQuestions;
class Registration;
class Sleeper;

class Leaving {
 public:
  struct Needs {
    OwnLife& life;
    control::Client& client;
    PeerLinks& links;
    Debts& debts;
    Escalations& escalations;
    OpenQuestions& questions;
    Registration& registration;
    Sleeper& sleeper;
  };
  explicit Leaving(const Needs& needs) : with_(needs) {}

  // Returns how many messages nobody has taken.
  std::uint64_t detach(Deadline drain_until);

  // ---- In steps ----
  void start(Deadline drain_until);
  // Takes it as far as it goes now.
  void step();
  // The lanes are a successor's by now: nobody looks at them any more.
  [[nodiscard]] bool is_saying_goodbye() const { return stage_ == Stage::kGoodbye; }
  // When the next step may go further although nobody rings.
  [[nodiscard]] Deadline next_step() const;
  // The result of the steps, once they are over.
  [[nodiscard]] std::optional<std::uint64_t> result() const;

 private:
  enum class Stage : std::uint8_t { kNone, kDraining, kGoodbye, kLeft };

  [[nodiscard]] bool is_drained();
  void want_last_receipts(bool wanted);
  // Sends and receives nothing from here on.
  void stop();
  void ask();
  void close();

  Needs with_;
  Stage stage_ = Stage::kNone;
  Deadline drain_until_{};
  std::uint64_t rest_ = 0;
  std::uint64_t seq_ = 0;  // of the question; 0: it could not be asked
  std::int64_t give_up_ns_ = 0;
};

}  // namespace beeline
