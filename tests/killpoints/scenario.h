#pragma once
// A scenario: an operation, and a prepared state that it starts from.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/killpoints/rig.h"

namespace beeline::killpoints {

enum class Actor : std::uint8_t {
  kSender,
  kReceiver,
  kSuccessor,    // the next life of the receiver, while it takes over
  kCoordinator,  // the directory
  kRecorder,     // the history of an agent
};

// The actions of both agents before.
struct Base {
  const char* name = "";
  shm::HomeOptions options{};
  void (*prepare)(Rig&) = nullptr;
};

using Step = std::function<void(Rig&)>;

struct Operation {
  std::string name;
  Actor actor = Actor::kSender;
  Step arrange;  // its needs beyond the base
  Step operate;  // stepped: only calls of the engine
  Step after;    // the ledger follows
  // Names of its bases, separated by spaces. Those with a star are swept in the long form alone.
  std::string bases{};
  bool leases = false;  // it leases the messages that it finishes
  // The other end can run while this one stands still. False if the other end has ended, or if
  // there is none: a reader of the directory of a standing coordinator sees the states that the
  // sweep reads.
  bool meets_peer = true;
};

struct Scenario {
  std::string name;  // operation/base
  const Base* base = nullptr;
  const Operation* operation = nullptr;
  bool is_long = false;  // swept in the long form alone
};

// An operation of the sender and one of the receiver at the same time.
struct Pair {
  std::string name;
  const Base* base = nullptr;
  const Operation* sender = nullptr;
  const Operation* receiver = nullptr;
  bool is_long = false;
};

// One of a pair is stopped while the other runs.
struct Standstill {
  Pair pair;
  const Operation* paused = nullptr;
};

[[nodiscard]] const std::vector<Base>& bases();
[[nodiscard]] std::vector<Operation> sender_operations();
[[nodiscard]] std::vector<Operation> receiver_operations();
[[nodiscard]] std::vector<Operation> other_operations();
[[nodiscard]] std::vector<Operation> history_operations();

[[nodiscard]] const std::vector<Scenario>& scenarios();
[[nodiscard]] const std::vector<Pair>& pairs();
// For every operation with a peer that can go on meanwhile.
[[nodiscard]] const std::vector<Standstill>& standstills();
// The name is that of a scenario or a pair.
[[nodiscard]] bool is_for_long_form(std::string_view name);

// A world in which everything is ready for the operation. Messages that it sends are planned.
[[nodiscard]] std::unique_ptr<Rig> arrange(const Scenario& scenario);
[[nodiscard]] std::unique_ptr<Rig> arrange(const Pair& pair);

// Steps through the operation. Only this function does, so that each run takes the same steps.
std::uint64_t step_through(const Operation& operation, Rig& rig, StepObserver& observer);

}  // namespace beeline::killpoints
