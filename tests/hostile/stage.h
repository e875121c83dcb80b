#pragma once
// What all tests of hostile peers have in common: a victim, an honest agent whose messages must all
// arrive, and the proof that they did.

#include <map>

#include "tests/hostile/villain.h"
#include "tests/support/hive_test.h"

namespace beeline::test {

struct HostileBoard {
  Event honest;             // the honest agent has joined
  Event attacked;           // what the villain does has been done, or goes on
  Event served;             // the honest agent was answered after it
  Event arrived;            // honest messages, counted by the victim
  Event is_over;            // nobody needs the villain any more
  Event left;               // the villain will do nothing more
  std::uint32_t attackers;  // how many are to raise `attacked`, set before anybody starts
  std::atomic<std::uint32_t> honest_pid;
  std::atomic<std::uint64_t> stolen;  // sleepers that were taken away from whoever wakes them
};

inline constexpr std::uint32_t kHonestMessages = 400;

// One process for each agent; the victim is the test itself.
class HostileTest : public HiveTest {
 protected:
  void SetUp() override { start(World::kProcesses, 360s, sizeof(HostileBoard)); }

  // Receives until all messages of the honest agent have come, each once, in order and whole, and
  // answers its request. Whatever the villain sends is taken and finished.
  void receive_all_honest(Agent& victim);
  // Waits for a line of the log that holds all parts.
  void await_log(std::initializer_list<std::string> parts);

  [[nodiscard]] HostileBoard& scene() { return board<HostileBoard>(); }
};

}  // namespace beeline::test
