// beeline send, recv, reply, request.

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "src/os/clock.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

using CliMessage = CliTest;

TEST_F(CliMessage, MessagesToAnAgentThatIsAwayWaitInOrder) {
  make_away("worker");
  const std::int64_t begin_ms = os::realtime_ns() / 1'000'000;
  std::vector<std::string> ids;
  for (const char* body : {"one", "two", "three"}) {
    ids.push_back(good({"send", "worker", body}));
    EXPECT_TRUE(contains(ids.back(), ":"));
    ::usleep(20'000);  // the clock that orders different senders has steps of 4 ms
  }
  EXPECT_EQ(good({"recv", "worker", "--count", "2"}), "one\ntwo\n");
  const auto rest = json_lines(good({"recv", "worker", "--count", "1", "--json"}));
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].at("body"), "three");
  EXPECT_EQ(rest[0].at("id").get<std::string>() + '\n', ids[2]);
  EXPECT_EQ(rest[0].at("rank"), 2);
  EXPECT_EQ(rest[0].at("attempts"), 0);
  EXPECT_EQ(rest[0].at("type"), "");
  EXPECT_TRUE(rest[0].at("from").is_number());
  EXPECT_EQ(rest[0].at("relation"), "other") << "whoever sent it has ended";
  EXPECT_EQ(rest[0].at("redelivered"), false);
  EXPECT_EQ(rest[0].at("requires_ack"), false);
  EXPECT_EQ(rest[0].at("cause"), nullptr);
  EXPECT_EQ(rest[0].at("trace"), nullptr);
  EXPECT_EQ(rest[0].at("hops"), 0);
  EXPECT_EQ(rest[0].at("ttl_ms"), 0);
  constexpr std::int64_t kTick = 1000;  // milliseconds; the clock of sends is never further behind
  EXPECT_GE(rest[0].at("sent_unix_ms"), begin_ms - kTick);
  EXPECT_LE(rest[0].at("sent_unix_ms"), os::realtime_ns() / 1'000'000 + kTick);
}

TEST_F(CliMessage, BodiesComeFromArgumentsStdinAndFiles) {
  make_away("worker");
  std::ofstream(folder_ + "/body") << "from a file";
  (void)good({"send", "worker", "-"}, "from stdin");
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "from stdin\n");
  (void)good({"send", "worker", "@" + folder_ + "/body"});
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "from a file\n");
  (void)good({"send", "worker", "-"}, std::string("\xff\x00\x01", 3));
  const auto binary = json_lines(good({"recv", "worker", "--count", "1", "--json"}));
  ASSERT_EQ(binary.size(), 1U);
  EXPECT_EQ(binary[0].at("body_base64"), "/wAB");
  EXPECT_TRUE(contains(bad(1, {"send", "worker", "@" + folder_ + "/none"}), folder_ + "/none"));
}

TEST_F(CliMessage, ALargeBodyArrivesWhole) {
  make_away("worker");
  const std::string body(3'000'000, 'x');
  (void)good({"send", "worker", "-"}, body);
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), body + '\n');
}

TEST_F(CliMessage, RankTypeAndChannelTravel) {
  make_away("worker");
  (void)good({"send", "worker", "later", "--rank", "low"});
  (void)good({"send", "worker", "now", "--rank", "critical", "--type", "alarm", "--channel", "c"});
  const auto lines = json_lines(good({"recv", "worker", "--count", "2", "--json"}));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("body"), "now");
  EXPECT_EQ(lines[0].at("rank"), 0);
  EXPECT_EQ(lines[0].at("type"), "alarm");
  EXPECT_EQ(lines[0].at("channel"), "c");
  EXPECT_EQ(lines[1].at("rank"), 3);
}

TEST_F(CliMessage, RecvSelectsByTypeAndLeavesTheRest) {
  make_away("worker");
  (void)good({"send", "worker", "plain"});
  (void)good({"send", "worker", "typed", "--type", "t"});
  EXPECT_EQ(good({"recv", "worker", "--count", "1", "--type", "t"}), "typed\n");
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "plain\n");
}

TEST_F(CliMessage, HK_033_CopiesAreMarkedAndNotAnswered) {
  make_away("queen");
  make_away("listener", {"--parent", "queen"});
  const auto gossip = [] {
    (void)good({"send", "listener", "psst", "--as", "talker", "--parent", "queen", "--keep"});
  };
  gossip();
  const auto shown = json_lines(good({"recv", "queen", "--count", "1", "--json"}));
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].at("copy"), true);
  EXPECT_EQ(shown[0].at("body"), "psst");
  EXPECT_EQ(shown[0].at("from_name"), "talker");
  EXPECT_EQ(shown[0].at("relation"), "child");
  gossip();
  const std::string to = std::to_string(shown[0].at("to").get<int>());
  EXPECT_EQ(good({"recv", "queen", "--count", "1"}), "[copy, talker to " + to + "] psst\n");
  gossip();
  Program queen(with_program({"reply", "queen", "--count", "2", "--command", "cat"}));
  EXPECT_EQ(good({"request", "queen", "one"}), "one\n");
  EXPECT_EQ(good({"request", "queen", "two"}), "two\n") << "the copy was no message to answer";
  (void)bad(5, {"recv", "talker", "--timeout", "20ms"});
}

TEST_F(CliMessage, ATypeOrChannelThatIsTooLongIsNamedInTheError) {
  make_away("worker");
  const std::string longest(31, 't');
  (void)good({"send", "worker", "x", "--type", longest, "--channel", longest});
  for (const char* what : {"type", "channel"}) {
    const Outcome refused =
        beeline({"send", "worker", "x", std::string("--") + what, longest + "t"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(contains(refused.err, std::string("the ") + what + " \"" + longest + "t\" has 32"))
        << refused.err;
    EXPECT_TRUE(contains(refused.err, "limit is 31")) << refused.err;
  }
}

TEST_F(CliMessage, WaitingTooLongExitsWithFive) {
  (void)good({"up"});
  // The timeout bounds the attach too.
  EXPECT_TRUE(contains(bad(5, {"recv", "worker", "--timeout", "2s"}), "worker"));
  const std::string told = bad(5, {"request", "worker", "anybody there?", "--timeout", "2s"});
  EXPECT_TRUE(contains(told, "no reply from \"worker\"")) << told;
  EXPECT_TRUE(contains(told, "--timeout")) << told;
}

TEST_F(CliMessage, NobodyThereExitsWithFour) {
  (void)good({"up"});
  EXPECT_TRUE(contains(bad(4, {"send", "nobody", "x"}), "nobody"));
  EXPECT_TRUE(contains(bad(4, {"request", "nobody", "x", "--timeout", "2s"}), "nobody"));
  (void)bad(4, {"inbox", "nobody"});
  (void)bad(4, {"recv", "worker", "--parent", "nobody"});
  EXPECT_EQ(bad(4, {"send", "0", "x"}), "beeline: no target specified\n") << "HK-030";
}

TEST_F(CliMessage, HK_037_HK_040_ANamedQueueExitsWithFourAndSaysWhatToDo) {
  make_away("lead");
  make_away("task", {"--parent", "lead", "--role", "task"});
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"send", "queue:q", "x"},
                                             {"send", "queue:q", "x", "--as", "task"},
                                             {"request", "queue:q", "x", "--timeout", "10s"},
                                             {"route", "task", "queue:q"}}) {
    const std::string error = bad(4, words);
    EXPECT_TRUE(contains(error, "no queue \"q\": this version has no named queues")) << error;
    EXPECT_TRUE(contains(error, "send to an agent")) << error;
  }
  EXPECT_TRUE(contains(bad(2, {"recv", "queue:q"}), "\"queue:q\""));
  EXPECT_EQ(good_json({"status"}).at("dead_letters"), 0);
  for (const json& inbox : good_json({"status"}).at("inboxes")) EXPECT_EQ(inbox.at("accepted"), 0);
}

TEST_F(CliMessage, ReceiversAreNamedByPidToo) {
  make_away("worker");
  std::string pid;
  const json king = good_json({"tree"}).at(0);
  for (const json& child : king.at("children")) {
    if (child.at("name") == "worker") pid = std::to_string(child.at("pid").get<int>());
  }
  (void)good({"send", pid, "by pid"});
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "by pid\n");
  Program echo(with_program({"reply", "worker", "--echo"}));
  EXPECT_EQ(good({"request", pid, "hello"}), "hello\n");
  (void)bad(4, {"send", "4000000", "x"});
}

TEST_F(CliMessage, TheTimeoutBoundsAnAttachToo) {
  (void)good({"up"});
  const auto coordinator = good_json({"status"}).at("coordinator_pid").get<pid_t>();
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"send", "worker", "x"}, {"recv", "worker"}, {"request", "worker", "x"}}) {
    std::vector<std::string> bounded = words;
    bounded.insert(bounded.end(), {"--timeout", "50ms"});
    EXPECT_TRUE(contains(bad(5, bounded), "within 500 ms")) << words.front();
  }
  EXPECT_EQ(::kill(coordinator, SIGCONT), 0);
}

TEST_F(CliMessage, AnotherParentThanThatOfTheFirstAttachIsRefused) {
  make_away("queen");
  make_away("worker", {"--parent", "queen"});
  for (const char* parent : {"nobody", "king"}) {
    const std::string refusal = bad(2, {"recv", "worker", "--parent", parent});
    EXPECT_TRUE(contains(refusal, "\"queen\"")) << refusal;
    EXPECT_TRUE(contains(refusal, parent)) << refusal;
    (void)bad(2, {"send", "queen", "x", "--as", "worker", "--parent", parent});
  }
  make_away("worker", {"--parent", "queen"});
  make_away("worker");
  make_away("queen", {"--parent", "king"});
}

TEST_F(CliMessage, AFullLaneExitsWithSixAndLosesNothing) {
  make_away("worker");
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += std::to_string(i) + '\n';
  const Outcome sent = beeline({"send", "worker", "-", "--lines"}, lines);
  EXPECT_EQ(sent.code, 6);
  EXPECT_TRUE(contains(sent.err, "full"));
  const auto accepted = std::count(sent.out.begin(), sent.out.end(), '\n');
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 1000);
  std::string expected;
  for (int i = 0; i < accepted; ++i) expected += std::to_string(i) + '\n';
  EXPECT_EQ(good({"recv", "worker", "--count", std::to_string(accepted)}), expected);
  make_away("worker");
}

TEST_F(CliMessage, ADeniedRouteExitsWithSeven) {
  make_away("lead");
  make_away("other");
  const std::vector<std::string> as_task = {"--as",   "task-1", "--parent", "lead",
                                            "--role", "task",   "--json"};
  std::vector<std::string> allowed = {"send", "lead", "done"};
  allowed.insert(allowed.end(), as_task.begin(), as_task.end());
  EXPECT_EQ(beeline(allowed).code, 0);
  std::vector<std::string> denied = {"send", "other", "hello"};
  denied.insert(denied.end(), as_task.begin(), as_task.end());
  EXPECT_TRUE(contains(bad(7, denied), "parent"));
}

TEST_F(CliMessage, ANameThatIsTakenExitsWithThree) {
  Program holder(with_program({"recv", "worker"}));
  wait_for_agent("worker");
  EXPECT_TRUE(contains(bad(3, {"recv", "worker", "--count", "1"}), "worker"));
}

TEST_F(CliMessage, RequestPrintsTheEcho) {
  Program echo(with_program({"reply", "echo", "--echo"}));
  wait_for_agent("echo");
  EXPECT_EQ(good({"request", "echo", "hello"}), "hello\n");
  const json reply = good_json({"request", "echo", "again"});
  EXPECT_EQ(reply.at("body"), "again");
  EXPECT_GT(reply.at("round_trip_ms"), 0);
  EXPECT_EQ(good({"request", "echo", "named", "--as", "asker"}), "named\n");
  echo.signal(SIGTERM);
  EXPECT_EQ(echo.wait().code, 0);
}

TEST_F(CliMessage, ARequestWaitsForAnAgentThatIsJustComing) {
  (void)good({"up"});
  Program request(with_program({"request", "echo", "hello", "--as", "asker", "--timeout", "60s"}));
  wait_for_agent("asker");
  Program echo(with_program({"reply", "echo", "--echo"}));
  const Outcome outcome = request.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "hello\n");
}

TEST_F(CliMessage, ReplyRunsACommandOnTheBody) {
  Program shout(with_program({"reply", "shout", "--command", "tr a-z A-Z"}));
  wait_for_agent("shout");
  EXPECT_EQ(good({"request", "shout", "hello"}), "HELLO\n");
  const std::string big(1'000'000, 'y');
  std::string shouted(1'000'000, 'Y');
  shouted += '\n';
  EXPECT_EQ(good({"request", "shout", "-"}, big), shouted);
}

TEST_F(CliMessage, ACommandThatFailsLeavesADeadLetter) {
  Program fails(with_program({"reply", "worker", "--command", "echo x >&2; exit 9"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "hopeless"});
  for (json inbox; inbox.empty() || inbox.at(0).at("place") != "dead";) {
    inbox = good_json({"inbox", "worker"});
    ::usleep(2000);
  }
  const json letter = good_json({"inbox", "worker"}).at(0);
  EXPECT_EQ(letter.at("reason"), "exhausted");
  EXPECT_EQ(letter.at("preview"), "hopeless");
  fails.signal(SIGTERM);
  const Outcome outcome = fails.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, "exited with 9"));
  EXPECT_TRUE(contains(outcome.err, "put back, attempt 2 of 3")) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "put back, attempt 3")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "attempt 3 of 3: it is a dead letter")) << outcome.err;
}

TEST_F(CliMessage, ACommandRunsOnceThoughItsReplyFindsNoRoom) {
  Program worker(with_program({"reply", "worker", "--command", "echo run >>$TMPDIR/runs; cat"}));
  wait_for_agent("worker");
  // The asker is away before the replies come; a lane holds 256 of them.
  std::string lines;
  for (int i = 0; i < 400; ++i) lines += std::to_string(i) + '\n';
  (void)good({"send", "worker", "-", "--lines", "--as", "asker", "--keep", "--timeout", "60s"},
             lines);
  const auto ended = [](const json& inbox) {
    return inbox.at("done").get<int>() + inbox.at("dead").get<int>() +
           inbox.at("purged").get<int>();
  };
  while (ended(good_json({"info", "worker"}).at("inbox")) != 400) ::usleep(20'000);
  worker.signal(SIGTERM);
  const Outcome outcome = worker.wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.err, "its reply was not sent to \"pid ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "full")) << outcome.err;
  std::ifstream runs(folder_ + "/runs");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'), 400);
}

TEST_F(CliMessage, ASignalEndsACommandAndASecondOneKillsIt) {
  Program polite(with_program({"reply", "worker", "--command", "touch $TMPDIR/runs; sleep 1000"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "one"});
  wait_for_file("runs");
  polite.signal(SIGTERM);
  const Outcome ended = polite.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(contains(ended.err, "put back, attempt 1 of 3")) << ended.err;

  // The command ignores TERM and has closed its stdout.
  Program stubborn(with_program({"reply", "worker", "--command",
                                 "trap 'touch $TMPDIR/told' TERM; exec >&-; touch $TMPDIR/lives; "
                                 "while :; do sleep 0.01; done"}));
  wait_for_file("lives");
  stubborn.signal(SIGTERM);
  wait_for_file("told");
  stubborn.signal(SIGINT);
  EXPECT_EQ(stubborn.wait().code, 0);
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "one\n");
}

TEST_F(CliMessage, RecvEndsOnASignalAndStaysAway) {
  Program recv(with_program({"recv", "worker"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "one"});
  recv.wait_for("one\n");
  recv.signal(SIGINT);
  EXPECT_EQ(recv.wait().code, 0);
  const json king = good_json({"tree"}).at(0);
  EXPECT_EQ(king.at("children").at(0).at("state"), "zombie");

  Program counted(with_program({"recv", "worker", "--count", "3"}));
  wait_for_agent("worker");
  counted.signal(SIGTERM);
  EXPECT_EQ(counted.wait().code, 1);
}

TEST_F(CliMessage, RecvEndsWithTheHive) {
  Program recv(with_program({"recv", "worker"}));
  wait_for_agent("worker");
  (void)good({"down"});
  const Outcome outcome = recv.wait();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "down"));
}

TEST_F(CliMessage, AMessageThatAKilledAgentDidNotFinishComesAgain) {
  Program stuck(with_program({"reply", "worker", "--command", "exec sleep 1000"}));
  wait_for_agent("worker");
  (void)good({"send", "worker", "-", "--lines"}, "one\ntwo\nthree\n");
  for (json inbox; inbox.empty() || inbox.back().at("place") != "leased";) {
    inbox = good_json({"inbox", "worker"});
    ::usleep(2000);
  }
  stuck.signal(SIGKILL);
  EXPECT_EQ(stuck.wait().code, 128 + SIGKILL);
  std::vector<json> lines;
  for (int i = 0; i < 200 && lines.empty(); ++i) {
    const Outcome recv = beeline({"recv", "worker", "--count", "3", "--json"});
    if (recv.code == 3) continue;  // the coordinator does not know of the death yet
    EXPECT_EQ(recv.code, 0) << recv.err;
    lines = json_lines(recv.out);
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].at("body"), "one");
  EXPECT_EQ(lines[0].at("attempts"), 1);
  EXPECT_EQ(lines[1].at("body"), "two");
  EXPECT_EQ(lines[1].at("attempts"), 0);
  EXPECT_EQ(lines[2].at("body"), "three");
}

TEST_F(CliMessage, AMessageThatCouldNotBePrintedIsNotTaken) {
  make_away("worker");
  (void)good({"send", "worker", "precious"});
  const auto print_in_vain = [] {
    const Outcome broken = run({"/bin/sh", "-c", "exec \"$BEELINE_BIN/beeline\" recv worker >&-"});
    EXPECT_EQ(broken.code, 1);
    return broken.err;
  };
  for (int i = 0; i < 4; ++i) {
    const std::string told = print_in_vain();
    EXPECT_TRUE(contains(told, "it is put back, no attempt is spent")) << told;
  }
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), "precious\n");
}

TEST_F(CliMessage, ADoneMessageLeavesTheInboxThoughItsLinkIsKeptForTheSender) {
  Program recv(with_program({"recv", "worker"}));
  wait_for_agent("worker");
  for (const char* body : {"s1", "s2"}) {
    (void)good({"send", "worker", body, "--as", "sender1", "--keep"});
    recv.wait_for(std::string(body) + '\n');
  }
  const auto done = [] {
    const json status = good_json({"status"});
    for (const json& inbox : status.at("inboxes")) {
      if (inbox.at("name") == "worker") return inbox.at("done") == 2;
    }
    return false;
  };
  while (!done()) ::usleep(2000);
  // Its links fade meanwhile; the last one is kept for the sender's next life.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(good_json({"inbox", "worker"}), json::array());
  recv.signal(SIGTERM);
  EXPECT_EQ(recv.wait().code, 0);
  // The same while the reader is away; a new message shows.
  EXPECT_EQ(good_json({"inbox", "worker"}), json::array());
  (void)good({"send", "worker", "s3", "--as", "sender1", "--keep"});
  const json inbox = good_json({"inbox", "worker"});
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox.at(0).at("place"), "lane");
  EXPECT_EQ(inbox.at(0).at("preview"), "s3");
}

}  // namespace
}  // namespace beeline::test
