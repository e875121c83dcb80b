// beeline inbox, and the sender as recv shows it.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "src/control/trace_text.h"
#include "tests/process/cli_fixture.h"
#include "tests/support/written_over.h"

namespace beeline::test {
namespace {

using CliInbox = CliTest;

TEST_F(CliInbox, HK_001_AMessageOfAnAgentThatHasEndedShowsTheNameOfThatAgent) {
  make_away("worker");
  SendOptions with;
  with.cause = (MessageId{77} << 40) + 5;
  with.trace.trace_id.fill(0xab);
  with.hops = 3;
  with.ttl_ms = 1'000'000;
  with.requires_ack = true;
  {
    AttachOptions options;
    options.name = "mayfly";
    options.temporary = true;
    auto mayfly = Agent::attach(options);
    ASSERT_TRUE(mayfly) << mayfly.error().text;
    ASSERT_TRUE(mayfly->send("worker", "last words", with));
  }
  EXPECT_EQ(good_json({"inbox", "worker"}).at(0).at("from_name"), "mayfly");
  EXPECT_TRUE(contains(good({"inbox", "worker"}), "mayfly"));
  const auto lines = json_lines(good({"recv", "worker", "--count", "1", "--json"}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("from_name"), "mayfly");
  EXPECT_EQ(lines[0].at("cause"), "77:5");
  EXPECT_EQ(lines[0].at("trace"), control::to_text(with.trace));
  EXPECT_EQ(lines[0].at("hops"), 3);
  EXPECT_EQ(lines[0].at("ttl_ms"), 1'000'000);
  EXPECT_EQ(lines[0].at("requires_ack"), true);
}

// The process naps between two looks, or has ended. A process that waits for an answer is in
// another system call.
bool naps_or_has_ended(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::string call;
  std::ifstream(process + "/syscall") >> call;
  if (call == std::to_string(SYS_clock_nanosleep)) return true;
  std::string stat;
  std::getline(std::ifstream(process + "/stat"), stat);
  return stat.find(") Z ") != std::string::npos;
}

TEST_F(CliInbox, ALinkThatTheKeeperHasNotTakenYetIsLookedForAgain) {
  make_away("worker");
  const auto keeper = good_json({"status"}).at("keeper_pid").get<pid_t>();
  ASSERT_EQ(::kill(keeper, SIGSTOP), 0);
  auto sender = Agent::attach({.name = "sender"});
  ASSERT_TRUE(sender) << sender.error().text;
  EXPECT_TRUE(sender->send("worker", "news"));
  Program look({"beeline", "inbox", "worker", "--json"});
  while (!naps_or_has_ended(look.pid())) ::usleep(200);
  ASSERT_EQ(::kill(keeper, SIGCONT), 0);
  const Outcome outcome = look.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json inbox = json::parse(outcome.out);
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.at(0).at("preview"), "news");
}

TEST_F(CliInbox, AnOrderToCancelAMissingMessageIsListedAsOne) {
  constexpr Filter kNobody{.reply_to = ~0ULL};
  auto boss = Agent::attach({.name = "boss"});
  auto worker = Agent::attach({.name = "worker", .inbox_capacity = 64});
  ASSERT_TRUE(boss && worker);
  const auto peer = boss->peer("worker");
  ASSERT_TRUE(peer) << peer.error().text;
  SendResult last;
  for (int i = 0; i < 100; ++i) last = boss->send(*peer, "x");
  ASSERT_TRUE(last);
  const auto look_until_it_has = [&](std::uint64_t taken) {
    const Deadline deadline = after(std::chrono::seconds(60));
    while (worker->counters().drained < taken && std::chrono::steady_clock::now() < deadline) {
      EXPECT_FALSE(worker->receive({.timeout = std::chrono::milliseconds(1), .filter = kNobody}));
    }
  };
  look_until_it_has(60);  // of 64: the other places are for critical messages
  ASSERT_TRUE(boss->cancel(*peer, last.id));
  look_until_it_has(61);
  const json inbox = good_json({"inbox", "worker"});
  const auto order = std::find_if(inbox.begin(), inbox.end(),
                                  [](const json& line) { return line.at("type") == "cancel"; });
  ASSERT_NE(order, inbox.end()) << inbox;
  EXPECT_EQ(order->at("place"), "order") << inbox;
  EXPECT_EQ(order->at("reply_to"), id_text(last.id));
}

TEST_F(CliInbox, MessagesThatCannotBeListedAreSaidToBeMissing) {
  make_away("worker");
  auto good_one = Agent::attach({.name = "good"});
  auto bad_one = Agent::attach({.name = "bad"});
  ASSERT_TRUE(good_one && bad_one);
  ASSERT_TRUE(good_one->send("worker", "mine"));
  ASSERT_TRUE(bad_one->send("worker", "theirs"));
  const std::string hive = good_json({"status"}).at("hive");
  const WrittenOver broken(hive, shm::SegmentKind::kLink, bad_one->pid());
  const Outcome outcome = Program({"beeline", "inbox", "worker"}).wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.out, "mine"));
  EXPECT_FALSE(contains(outcome.out, "theirs"));
  EXPECT_TRUE(contains(outcome.err, "1 link to it is damaged")) << outcome.err;
  EXPECT_EQ(good_json({"inbox", "worker"}).size(), 1U);
}

TEST_F(CliInbox, InboxListsInDeliveryOrderAndTakesNothing) {
  make_away("worker");
  (void)good({"send", "worker", "low", "--rank", "low"});
  (void)good({"send", "worker", "urgent", "--rank", "critical", "--type", "alarm"});
  for (int i = 0; i < 2; ++i) {
    const json inbox = good_json({"inbox", "worker"});
    ASSERT_EQ(inbox.size(), 2U);
    EXPECT_EQ(inbox.at(0).at("preview"), "urgent");
    EXPECT_EQ(inbox.at(0).at("type"), "alarm");
    EXPECT_EQ(inbox.at(0).at("place"), "lane");
    EXPECT_EQ(inbox.at(1).at("preview"), "low");
  }
  // The messages were taken from the lanes into the inbox, and none was handed out.
  (void)bad(5, {"recv", "worker", "--type", "none", "--timeout", "2s"});
  const json inbox = good_json({"inbox", "worker"});
  ASSERT_EQ(inbox.size(), 2U);
  EXPECT_EQ(inbox.at(0).at("place"), "queued");
  EXPECT_EQ(inbox.at(0).at("preview"), "urgent");
  EXPECT_EQ(inbox.at(1).at("preview"), "low");
  EXPECT_TRUE(contains(good({"inbox", "worker"}), "urgent"));
  EXPECT_EQ(good({"recv", "worker", "--count", "2"}), "urgent\nlow\n");
  EXPECT_EQ(good_json({"inbox", "worker"}).size(), 0U);
}

TEST_F(CliInbox, HK_007_MessagesInALaneAreListedWithTheirFinalRankAndInTheOrderOfDelivery) {
  make_away("worker");
  // Both are siblings of the worker: low counts as normal, an escalation as high.
  auto one = Agent::attach({.name = "one"});
  auto other = Agent::attach({.name = "other"});
  ASSERT_TRUE(one && other);
  ASSERT_TRUE(one->send("worker", "first", {.rank = kLow}));
  ::usleep(10'000);  // more than a tick of the clock that stamps them
  ASSERT_TRUE(other->send("worker", "second", {.rank = kNormal}));
  ASSERT_TRUE(one->send("worker", "help", {.rank = kLow, .type = kEscalation}));
  const auto rows = [&] {
    std::vector<std::string> found;
    for (const json& line : good_json({"inbox", "worker"})) {
      found.push_back(line.at("preview").get<std::string>() + " " + line.at("rank").dump());
    }
    return found;
  };
  const std::vector<std::string> in_lanes = rows();
  EXPECT_EQ(in_lanes, (std::vector<std::string>{"help 1", "first 2", "second 2"}));
  (void)bad(5, {"recv", "worker", "--type", "none", "--timeout", "2s"});
  EXPECT_EQ(good_json({"inbox", "worker"}).at(0).at("place"), "queued");
  EXPECT_EQ(rows(), in_lanes);
  EXPECT_EQ(good({"recv", "worker", "--count", "3"}), "help\nfirst\nsecond\n");
}

}  // namespace
}  // namespace beeline::test
