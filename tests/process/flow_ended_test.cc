// A life that has ended while its process goes on: the messages in the lanes belong to its
// successor.

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "shm/link.h"
#include "src/os/event_fd.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct EndedBoard {
  Event attached;
  Event cut;
  Event sent;
  Event looked;
};

class FlowEnded : public HiveTest {
 protected:
  void end_and_succeed(const std::string& role);
};
INSTANTIATE_TEST_SUITE_P(As, FlowEnded, testing::Values(World::kProcesses), world_name);

constexpr int kMessages = 20;

// Ends every connection of this process, as a library that closes all descriptors would.
void shut_all_sockets() {
  DIR* fds = ::opendir("/proc/self/fd");
  ASSERT_NE(fds, nullptr);
  while (const dirent* each = ::readdir(fds)) {
    const int fd = std::atoi(each->d_name);
    struct stat found {};
    if (::fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode)) ::shutdown(fd, SHUT_RDWR);
  }
  ::closedir(fds);
}

// While an object exists, this process can open nothing, and so cannot connect.
class NothingOpens {
 public:
  NothingOpens() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &files_), 0);
    const rlimit none{0, files_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  // A leak checker opens files at the end of the process.
  ~NothingOpens() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &files_), 0); }
  NothingOpens(const NothingOpens&) = delete;
  NothingOpens& operator=(const NothingOpens&) = delete;

 private:
  rlimit files_{};
};

// Holds one message, and loses its connection before it returns.
void hold_one_and_be_cut(EndedBoard& board, Agent& agent, Message& held) {
  held = next_message(agent);
  ASSERT_TRUE(held.valid());
  board.attached.raise();
  ASSERT_TRUE(board.cut.await(1, patience()));
  shut_all_sockets();
}

// Holds one message, loses its connection, and comes back too late: the next life has attached.
BEELINE_ROLE(fenced) {
  auto& board = context.board<EndedBoard>();
  auto agent = attach("fenced");
  ASSERT_TRUE(agent);
  Message held;
  ASSERT_NO_FATAL_FAILURE(hold_one_and_be_cut(board, *agent, held));
  board.cut.raise();
  ASSERT_TRUE(board.sent.await(1, patience()));
  // It learns of its end only from the control socket, which next_notice() reads.
  const Deadline deadline = patience();
  std::optional<Notice> end;
  while (!end && std::chrono::steady_clock::now() < deadline) end = agent->next_notice();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Notice::Kind::kShutdown);

  const std::uint64_t before = agent->counters().drained;
  EXPECT_EQ(agent->inbox().size(), 1U) << "what it holds, and nothing from the lanes";
  EXPECT_TRUE(agent->drain_pending_results().empty());
  EXPECT_FALSE(agent->try_receive());
  EXPECT_EQ(agent->receive().error().code, ErrorCode::kClosed);
  EXPECT_FALSE(held.cancelled());
  const auto served = agent->serve([](Message&) { return Ack{}; });
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kClosed);
  EXPECT_EQ(agent->counters().drained, before);
  held.done();
  EXPECT_EQ(agent->detach(), 0U);
  board.looked.raise();
}

// The same, but it can never connect again. Nobody tells it of its end; only its word in the
// directory does.
BEELINE_ROLE(fenced_for_good) {
  auto& board = context.board<EndedBoard>();
  auto agent = attach("fenced");
  ASSERT_TRUE(agent);
  Message held;
  ASSERT_NO_FATAL_FAILURE(hold_one_and_be_cut(board, *agent, held));
  const NothingOpens for_good;
  board.cut.raise();
  ASSERT_TRUE(board.sent.await(1, patience()));
  const std::uint64_t before = agent->counters().drained;
  EXPECT_FALSE(agent->try_receive()) << "it lies in the lanes for the next life";
  EXPECT_EQ(agent->counters().drained, before);
  EXPECT_EQ(agent->receive({.timeout = kPatience}).error().code, ErrorCode::kClosed);
  const auto end = agent->next_notice();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Notice::Kind::kShutdown);
  held.done();
  EXPECT_EQ(agent->detach(), 0U);
  board.looked.raise();
}

// The next life, attached as soon as the coordinator has ended the one before.
std::optional<Agent> attach_successor(Agent& other) {
  const Deadline deadline = patience();
  for (;;) {
    auto next = Agent::attach(named("fenced"));
    if (next) return std::move(*next);
    if (next.error().code != ErrorCode::kAlreadyRunning ||
        std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << next.error().text;
      return std::nullopt;
    }
    EXPECT_FALSE(other.receive({.timeout = 20ms}));
  }
}

// `role` loses its connection while it holds one message, and its successor gets all messages.
void FlowEnded::end_and_succeed(const std::string& role) {
  auto& shared = board<EndedBoard>();
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  troupe().start(role);
  const Peer to = peer_of(*sender, "fenced");
  ASSERT_TRUE(sender->send(to, "held"));
  ASSERT_TRUE(shared.attached.await(1, patience()));
  shared.cut.raise();
  ASSERT_TRUE(shared.cut.await(2, patience()));
  auto successor = attach_successor(*sender);
  ASSERT_TRUE(successor);
  for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(sender->send(to, std::to_string(i)));
  shared.sent.raise();
  ASSERT_TRUE(shared.looked.await(1, patience()));

  Message held = next_message(*successor);
  ASSERT_TRUE(held.valid());
  EXPECT_EQ(held.text(), "held");
  EXPECT_EQ(held.attempts(), 1U);
  held.done();
  for (int i = 0; i < kMessages; ++i) {
    Message message = next_message(*successor);
    ASSERT_TRUE(message.valid()) << i;
    EXPECT_EQ(message.text(), std::to_string(i));
    EXPECT_FALSE(message.redelivered());
    message.done();
  }
  EXPECT_FALSE(successor->try_receive());
  troupe().wait_all(patience());
  expect_balance(*successor);
}

TEST_P(FlowEnded, ALifeThatWasEndedTakesNothingFromItsSuccessor) { end_and_succeed("fenced"); }
TEST_P(FlowEnded, NorDoesOneThatCannotAskTheCoordinator) { end_and_succeed("fenced_for_good"); }

// Has lost its connection for good, and only sends.
BEELINE_ROLE(fenced_sender) {
  auto agent = attach("fenced");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "reader");
  ASSERT_TRUE(agent->send_acked(to, "first", patience())) << "it knows where its receipts are";
  shut_all_sockets();
  const NothingOpens for_good;
  const Deadline deadline = patience();
  SendResult last;
  do {
    last = agent->send(to, "and so on");
  } while ((last || last.status == SendStatus::kFull) &&
           std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(last.status, SendStatus::kNoRoute) << "nobody reads it any more";
}

// The same, and sends nothing before it has ended.
BEELINE_ROLE(late_sender) {
  auto& board = context.board<EndedBoard>();
  auto agent = attach("late");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "reader");
  shut_all_sockets();
  const NothingOpens for_good;
  board.cut.raise();
  ASSERT_TRUE(board.looked.await(1, patience()));
  const auto all = agent->broadcast(Group::all(), "too late");
  EXPECT_FALSE(all.empty());
  for (const Delivery& each : all) EXPECT_EQ(each.result.status, SendStatus::kNoRoute) << each.name;
  EXPECT_EQ(agent->send(to, "too late").status, SendStatus::kNoRoute);
}

TEST_P(FlowEnded, AnEndedLifeThatOnlySendsIsToldSo) {
  auto& shared = board<EndedBoard>();
  auto reader = attach("reader");
  ASSERT_TRUE(reader);
  const std::size_t sender = troupe().start("fenced_sender");
  troupe().start("late_sender");
  ASSERT_TRUE(shared.cut.await(1, patience()));
  const Pid late = peer_of(*reader, "late").pid;
  const auto is_over = [&] {
    const auto seen = reader->info(late);
    return seen && seen->state == State::kZombie;
  };
  const Deadline deadline = patience();
  while (!os::wait_readable(troupe().pidfd(sender), 0ns) ||
         (!is_over() && std::chrono::steady_clock::now() < deadline)) {
    auto message = reader->receive({.timeout = 20ms});
    if (message) message->done();
  }
  EXPECT_TRUE(is_over());
  shared.looked.raise();
  troupe().wait_all(patience());
  expect_balance(*reader);
}

// ---- An attach that fails -----------------------------------------------------------------------

struct RefusedBoard {
  Event refused;
  Event taken;
};

// The hive has given the agent a pid before the agent finds that its limit is too high.
BEELINE_ROLE(refused) {
  auto& board = context.board<RefusedBoard>();
  AttachOptions options = named("wanted");
  options.max_payload_bytes = shm::kMaxMaxPayload;
  EXPECT_FALSE(Agent::attach(options));
  board.refused.raise();
  ASSERT_TRUE(board.taken.await(1, patience()));
}

TEST_P(FlowEnded, TheNameOfAnAttachThatFailedIsFreeAtOnce) {
  auto& shared = board<RefusedBoard>();
  troupe().start("refused");
  ASSERT_TRUE(shared.refused.await(1, patience()));
  EXPECT_TRUE(attach("wanted"));
  shared.taken.raise();
  troupe().wait_all(patience());
}

// ---- Acknowledgements while the coordinator hangs -----------------------------------------------

class FlowAckHang : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowAckHang);

// Finishes every message at once, also the last one.
BEELINE_ROLE(acknowledger) {
  auto agent = attach("acknowledger");
  ASSERT_TRUE(agent);
  for (bool last = false; !last;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    last = message.type() == "stop";
    const std::string text(message.text());
    message.done(text);
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_balance(*agent);
}

void expect_ack(const Result<Acknowledgement>& ack, int number) {
  ASSERT_TRUE(ack) << number << ": " << ack.error().text;
  EXPECT_EQ(ack->status, AckStatus::kAccepted);
  EXPECT_EQ(ack->reply, std::to_string(number));
}

TEST_P(FlowAckHang, HK_054_DoneNeitherWaitsForTheCoordinatorNorLosesItsAcknowledgement) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  troupe().start("acknowledger");
  const Peer to = peer_of(*agent, "acknowledger");
  ASSERT_NO_FATAL_FAILURE(expect_ack(agent->send_acked(to, "0", patience()), 0));
  const pid_t coordinator = hive().coordinator();
  ASSERT_GT(coordinator, 0);
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  // If each of these waited for the coordinator, 2 s at least, the test would time out.
  for (int i = 0; i < 200; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_ack(agent->send_acked(to, std::to_string(i), patience()), i));
  }
  // More than a lane holds, and none is read before the last one was sent.
  std::vector<MessageId> ids;
  for (int i = 0; i < 300; ++i) {
    const auto sent = agent->send_until(to, std::to_string(i), patience(), {.requires_ack = true});
    ASSERT_TRUE(sent);
    ids.push_back(sent.id);
  }
  for (int i = 0; i < 300; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_ack(agent->await_ack(to, ids[i], patience()), i));
  }
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);
  ASSERT_TRUE(agent->send(to, "", {.type = "stop"}));
  troupe().wait_all(patience());
  EXPECT_EQ(agent->counters().queued, 0U);
  expect_balance(*agent);
}

}  // namespace
}  // namespace beeline::test
