#pragma once
// A random walk through the calls of agents, as data: one seed always gives the same steps. The
// meaning of a step depends on the state when it is taken: its numbers choose among the
// possibilities.

#include <cstdint>
#include <random>
#include <string>

namespace beeline::test {

enum class StepKind : std::uint8_t {
  kSend,
  kForget,
  kBroadcast,
  kControl,
  kCancel,
  kReply,
  kLook,
  kReceive,
  kDone,
  kRequeue,
  kPutBack,
  kReject,
  kDefer,
  kEscalate,
  kDrainResults,
  kAwaitAck,
  kRevive,
  kPurge,
  kKill,
  kKillInside,
  kLeave,
  kRestart,
  kNewcomer,
  kCount,
};

[[nodiscard]] std::string to_string(StepKind kind);

struct Step {
  StepKind kind;
  std::uint32_t who;
  std::uint32_t whom;
  std::uint32_t what;
  std::uint32_t how;
};

[[nodiscard]] Step next_step(std::mt19937_64& random);

}  // namespace beeline::test
