#pragma once
// Common parts of all tests of hostile peers: a victim, an honest agent with messages that must all
// arrive, and the proof that they did.

#include <map>

#include "tests/hostile/villain.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

struct HostileBoard {
  Event honest;             // the honest agent has joined
  Event attacked;           // the villain's action is done, or goes on
  Event served;             // the honest agent got an answer after it
  Event arrived;            // honest messages, counted by the victim
  Event is_over;            // nobody needs the villain any more
  Event left;               // the villain will do nothing more
  std::uint32_t attackers;  // how many raise `attacked`, set before any of them starts
  std::atomic<std::uint32_t> honest_pid;
  std::atomic<std::uint64_t> stolen;  // sleepers that were moved away from their wakers
};

inline constexpr std::uint32_t kHonestMessages = 400;

// One process for each agent; the victim is the test itself.
class HostileTest : public HiveTest {
 protected:
  void SetUp() override { start(World::kProcesses, 360s, sizeof(HostileBoard)); }

  // Receives until all messages of the honest agent have come, each once, in order and whole, and
  // answers its request. Takes and finishes all messages of the villain.
  void receive_all_honest(Agent& victim);
  // Waits for a line of the log that contains all parts.
  void await_log(std::initializer_list<std::string> parts);

  [[nodiscard]] HostileBoard& scene() { return board<HostileBoard>(); }
};

}  // namespace beeline::test
