// Loans: to a receiver that dies and comes back, and shorter than they were taken.

#include <unistd.h>

#include <cstring>
#include <string_view>

#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

struct LoanBoard {
  Event attached;
  Event waiting;
  Event received;
  std::atomic<pid_t> os_pid;
  std::atomic<Pid> pid;
};

class FlowLoan : public HiveTest {};
INSTANTIATE_TEST_SUITE_P(As, FlowLoan, testing::Values(World::kProcesses), world_name);

constexpr std::uint32_t kEach = 3;  // messages for each life

// Waits on its fd, outside of the library, where only a ring wakes it.
BEELINE_ROLE(reborn) {
  auto& board = context.board<LoanBoard>();
  auto agent = attach("reborn");
  ASSERT_TRUE(agent);
  board.pid.store(agent->pid());
  board.os_pid.store(::getpid());
  const int fd = agent->fd();
  board.attached.raise();
  for (;;) {
    auto message = agent->try_receive();
    if (!message) {
      board.waiting.raise();
      ASSERT_TRUE(os::wait_readable(fd, kPatience)) << "nobody rings";
      continue;
    }
    const bool last = message->text() == "stop";
    message->done();
    board.received.raise();
    if (last) return;
  }
}

void send_loan(Agent& agent, Peer to, std::string_view text) {
  auto loan = agent.loan(to, text.size());
  ASSERT_TRUE(loan) << loan.error().text;
  std::memcpy(loan->bytes().data(), text.data(), text.size());
  ASSERT_TRUE(agent.send(*loan));
  EXPECT_FALSE(loan->valid());
}

TEST_P(FlowLoan, ALoanRingsTheNextLifeOfItsReceiver) {
  auto& shared = board<LoanBoard>();
  auto agent = attach("lender");
  ASSERT_TRUE(agent);
  const std::size_t reborn = troupe().start("reborn");
  const Peer to = peer_of(*agent, "reborn");
  for (std::uint32_t life = 1; life <= 2; ++life) {
    ASSERT_TRUE(shared.attached.await(life, patience()));
    for (std::uint32_t i = 1; i <= kEach; ++i) {
      const StatusProbe probe(hive().name(), shared.os_pid.load(), shared.pid.load());
      ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
      const bool last = life == 2 && i == kEach;
      ASSERT_NO_FATAL_FAILURE(send_loan(*agent, to, last ? "stop" : "on"));
      ASSERT_TRUE(shared.received.await((life - 1) * kEach + i, patience())) << "life " << life;
    }
    if (life == 2) break;
    troupe().kill(reborn);
    troupe().restart(reborn);
  }
  troupe().wait_all(patience());
}

TEST_P(FlowLoan, AShrunkLoanSendsItsStart) {
  constexpr std::string_view kText = "a part";
  auto lender = attach("lender");
  auto reader = attach("reader");
  ASSERT_TRUE(lender && reader);
  auto loan = lender->loan(peer_of(*lender, "reader"), 100);
  ASSERT_TRUE(loan) << loan.error().text;
  std::memcpy(loan->bytes().data(), kText.data(), kText.size());
  ASSERT_TRUE(loan->shrink(kText.size()));
  EXPECT_EQ(loan->bytes().size(), kText.size());
  ASSERT_TRUE(lender->send(*loan));
  const auto message = reader->receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text(), kText);
}

}  // namespace
}  // namespace beeline::test
