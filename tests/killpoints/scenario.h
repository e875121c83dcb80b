#pragma once
// What is swept: an operation, from a prepared state.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/killpoints/rig.h"

namespace beeline::killpoints {

enum class Actor : std::uint8_t {
  kSender,
  kReceiver,
  kSuccessor,    // the next life of the receiver, while it takes over
  kCoordinator,  // the directory
};

// What both agents did before.
struct Base {
  const char* name = "";
  shm::HomeOptions options{};
  void (*prepare)(Rig&) = nullptr;
};

using Step = std::function<void(Rig&)>;

struct Operation {
  std::string name;
  Actor actor = Actor::kSender;
  Step arrange;         // what it needs beyond the base
  Step operate;         // is stepped: the engine's calls and nothing else
  Step after;           // the ledger follows
  std::string bases{};  // names of those that it is swept from, a space between two
  bool leases = false;  // what it finishes it leases before
  // The other end can run while this one stands still. Not so where it has ended, and where there
  // is none: whoever reads a directory sees of a coordinator that stands still what the sweep
  // reads.
  bool meets_peer = true;
  // That of which it runs the same code, after another past: real kills at every instruction of
  // that one stand for both.
  std::string variant_of{};

  [[nodiscard]] const std::string& code() const { return variant_of.empty() ? name : variant_of; }
};

struct Scenario {
  std::string name;  // operation/base
  const Base* base = nullptr;
  const Operation* operation = nullptr;
};

// A sender's and a receiver's operation at the same time.
struct Pair {
  std::string name;
  const Base* base = nullptr;
  const Operation* sender = nullptr;
  const Operation* receiver = nullptr;
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

[[nodiscard]] const std::vector<Scenario>& scenarios();
[[nodiscard]] const std::vector<Pair>& pairs();
// Of every operation with an end that can go on meanwhile.
[[nodiscard]] const std::vector<Standstill>& standstills();

// A world in which everything is ready for the operation. Messages that it sends are planned.
[[nodiscard]] std::unique_ptr<Rig> arrange(const Scenario& scenario);
[[nodiscard]] std::unique_ptr<Rig> arrange(const Pair& pair);

// Steps through the operation. The one place that does, so that each run takes the same steps.
std::uint64_t step_through(const Operation& operation, Rig& rig, StepObserver& observer);

}  // namespace beeline::killpoints
