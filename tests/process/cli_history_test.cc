// beeline history, log, tail, trace.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <beeline/agent.h>

#include "shm/verify_history.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliHistory : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    (void)good({"up"});
  }

  static Agent attach(const std::string& name, bool temporary = false) {
    AttachOptions options;
    options.name = name;
    options.temporary = temporary;
    auto agent = Agent::attach(options);
    EXPECT_TRUE(agent) << agent.error().text;
    return std::move(*agent);
  }
  static Message take(Agent& agent) {
    auto message = agent.receive({.timeout = std::chrono::seconds(60)});
    EXPECT_TRUE(message) << message.error().text;
    return std::move(*message);
  }
  static SendOptions of_type(std::string_view type) {
    SendOptions options;
    options.type = type;
    return options;
  }
  // Waits until this agent records: it looks at the word when it takes a turn.
  static void await_recording(Agent& agent) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (good_json({"history"}).at("kept") == 0 && std::chrono::steady_clock::now() < end) {
      (void)agent.try_receive();
      ::usleep(5000);
    }
    (void)agent.try_receive();
  }
  // The same as good_json(), of a hive with a history that is left out.
  static json good_json_with_remark(std::vector<std::string> words) {
    words.emplace_back("--json");
    const Outcome outcome = beeline(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "left out")) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  static std::vector<std::string> events_of(const json& lines, const std::string& id = "") {
    std::vector<std::string> events;
    for (const json& line : lines) {
      if (line.contains("event") && (id.empty() || line.at("id") == id))
        events.push_back(line.at("event"));
    }
    return events;
  }
};

using Words = std::vector<std::string>;

TEST_F(CliHistory, ItIsOffUntilItIsSwitchedOnAndSaysHow) {
  EXPECT_EQ(good_json({"history"}).at("history"), "off");
  EXPECT_NE(bad(1, {"tail"}).find("beeline history on"), std::string::npos);
  EXPECT_NE(bad(4, {"log", "worker"}).find("beeline history on"), std::string::npos);
  EXPECT_NE(bad(1, {"trace", "3:1"}).find("beeline history on"), std::string::npos);
  EXPECT_EQ(good_json({"history", "on"}).at("history"), "headers");
  EXPECT_EQ(good_json({"history", "on", "--previews"}).at("history"), "previews");
  EXPECT_EQ(good_json({"history", "off"}).at("history"), "off");
  (void)bad(2, {"history", "off", "--previews"});
  (void)bad(2, {"history", "maybe"});
  (void)bad(2, {"trace", "nonsense"});
}

TEST_F(CliHistory, AMessageLeavesItsRowsWithBothAgentsAlsoAfterTheirEnd) {
  (void)good({"history", "on", "--previews"});
  std::string id;
  {
    Agent worker = attach("worker", true);
    Agent queen = attach("queen", true);
    const auto to = queen.peer("worker");
    ASSERT_TRUE(to);
    const SendResult sent = queen.send(*to, "6 * 7", of_type("task"));
    ASSERT_TRUE(sent);
    id = id_text(sent.id);
    take(worker).done();
    ASSERT_TRUE(queen.send(*to, "no", of_type("task")));
    take(worker).reject();
  }
  const json queen = good_json({"log", "queen"});
  EXPECT_EQ(events_of(queen), Words({"sent", "sent"}));
  EXPECT_EQ(queen[0].at("preview"), "6 * 7");
  EXPECT_EQ(queen[0].at("type"), "task");
  EXPECT_EQ(queen[0].at("to_name"), "worker");
  const json worker = good_json({"log", "worker"});
  EXPECT_EQ(events_of(worker, id), Words({"taken", "done"}));
  EXPECT_EQ(events_of(worker).size(), 4U);
  const json trace = good_json({"trace", id});
  EXPECT_EQ(events_of(trace), Words({"sent", "taken", "done"}));
  EXPECT_NE(good({"log", "worker"}).find("rejected"), std::string::npos);
}

TEST_F(CliHistory, ATraceShowsWhatCameOfAMessageAndWhatLedToIt) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  Agent helper = attach("helper");
  const SendResult first = queen.send(*queen.peer("worker"), "job");
  ASSERT_TRUE(first);
  SendResult second;
  {
    Message job = take(worker);
    second = worker.send(*worker.peer("helper"), "part");
    ASSERT_TRUE(second);
    job.done();
  }
  take(helper).done();
  for (const SendResult& each : {first, second}) {
    const json trace = good_json({"trace", id_text(each.id)});
    EXPECT_EQ(events_of(trace), Words({"sent", "taken", "done", "sent", "taken", "done"}));
    EXPECT_EQ(trace.front().at("depth"), 0);
    EXPECT_EQ(trace.back().at("depth"), 1);
    EXPECT_EQ(trace.back().at("cause"), id_text(first.id));
  }
}

TEST_F(CliHistory, AnAgentThatRunsFollowsTheSwitch) {
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  ASSERT_TRUE(queen.send(*to, "before"));
  take(worker).done();
  EXPECT_EQ(good_json({"history"}).at("kept"), 0);
  (void)good({"history", "on"});
  await_recording(worker);
  await_recording(queen);
  ::usleep(10'000);
  ASSERT_TRUE(queen.send(*to, "x"));  // a call that may look at the word only afterwards
  take(worker).done();
  ::usleep(10'000);
  ASSERT_TRUE(queen.send(*to, "after"));
  take(worker).done();
  const json log = good_json({"log", "queen"});
  EXPECT_GE(events_of(log).size(), 1U);
  (void)good({"history", "off"});
  ::usleep(10'000);
  (void)worker.try_receive();
  (void)queen.try_receive();
  const std::size_t before = events_of(good_json({"log", "worker"})).size();
  ASSERT_TRUE(queen.send(*to, "unseen"));
  take(worker).done();
  EXPECT_EQ(events_of(good_json({"log", "worker"})).size(), before);
}

TEST_F(CliHistory, ItSurvivesTheCoordinator) {
  (void)good({"history", "on"});
  {
    Agent worker = attach("worker", true);
    Agent queen = attach("queen", true);
    ASSERT_TRUE(queen.send(*queen.peer("worker"), "job"));
    take(worker).done();
  }
  const int coordinator = good_json({"status"}).at("coordinator_pid");
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (good_json({"status"}).at("coordinator_pid") == coordinator) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    ::usleep(2000);
  }
  const json state = good_json({"history"});
  EXPECT_EQ(state.at("history"), "headers");
  EXPECT_EQ(state.at("kept"), 2);
  EXPECT_EQ(events_of(good_json({"log", "worker"})), Words({"taken", "done"}));
}

TEST_F(CliHistory, ALogSaysHowManyRowsWereWrittenOver) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  for (int i = 0; i < 1100; ++i) {
    ASSERT_TRUE(queen.send(*to, "x"));
    take(worker).done();
  }
  const json queen_log = good_json({"log", "queen"});
  const auto gap = std::find_if(queen_log.begin(), queen_log.end(),
                                [](const json& line) { return line.contains("lost"); });
  ASSERT_NE(gap, queen_log.end());
  EXPECT_EQ(gap->at("lost"), 1100 - 1024);
  EXPECT_EQ(events_of(queen_log).size(), 1024U);
  EXPECT_NE(good({"log", "queen"}).find("76 rows of queen (sent)"), std::string::npos);
}

TEST_F(CliHistory, TailPrintsRowsAsTheyComeAndFiltersThem) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  ASSERT_TRUE(to);
  Program tail(with_program({"tail", "--json", "--to", "worker", "--type", "wanted"}));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // It leaves out all rows before its start.
  while (tail.out().find("\"event\":\"done\"") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << tail.out();
    ASSERT_TRUE(queen.send(*to, "x", of_type("wanted")));
    take(worker).done();
    ASSERT_TRUE(queen.send(*to, "x", of_type("other")));
    take(worker).done();
    ::usleep(20'000);
  }
  tail.signal(SIGINT);
  const Outcome outcome = tail.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("other"), std::string::npos);
  EXPECT_NE(outcome.out.find("\"from_name\":\"queen\""), std::string::npos);
}

TEST_F(CliHistory, TailBeginsWithAllThatIsKeptOrSomeOfItIfThatIsAsked) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  for (int i = 0; i < 1100; ++i) {
    SendOptions options = of_type("old");
    options.rank = i == 1099 ? kHigh : kNormal;
    ASSERT_TRUE(queen.send(*to, "x", options));
    take(worker).done();
  }
  const auto tail = [](Words words) {
    const Words common{"--json", "--timeout", "300ms"};
    words.insert(words.begin(), "tail");
    words.insert(words.end(), common.begin(), common.end());
    return json_lines(good(words));
  };
  const auto all = tail({"--since", "0"});
  std::uint64_t lost = 0;
  std::uint64_t sent = 0;
  for (const json& line : all) {
    if (line.contains("lost") && line.at("ring") == "sent") lost += line.at("lost").get<int>();
    if (line.value("event", "") == "sent") ++sent;
  }
  EXPECT_EQ(sent, 1024U);
  EXPECT_EQ(sent + lost, 1100U);  // each row, or a line that says that it is gone
  EXPECT_EQ(tail({"--since", "1h", "--from", "queen", "--rank", "high"}).size(), 3U + 2U);
  EXPECT_TRUE(tail({}).empty());
  EXPECT_TRUE(tail({"--since", "0s"}).empty());
  (void)bad(2, {"tail", "--since", "yesterday"});
}

TEST_F(CliHistory, TailLetsGoOfHistoriesThatTheKeeperHasDropped) {
  (void)good({"history", "on"});
  const auto live = [](int first, int end) {
    for (int i = first; i < end; ++i) {
      Agent agent = attach("life" + std::to_string(i), true);
      ASSERT_TRUE(agent.send(agent.pid(), "x"));
      take(agent).done();
    }
  };
  live(0, 256);  // as many as the keeper holds
  Program tail(with_program({"tail", "--json", "--since", "0"}));
  tail.wait_for("life255");
  const auto held = count_open_fds(tail.pid());
  live(256, 316);
  tail.wait_for("life315");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (count_open_fds(tail.pid()) > held) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << count_open_fds(tail.pid());
    ::usleep(20'000);
  }
}

TEST_F(CliHistory, TailFiltersBySenderReceiverTypeAndRank) {
  (void)good({"history", "on"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  Agent helper = attach("helper");
  const auto send = [](Agent& from, Agent& to, std::string_view name, std::int32_t rank) {
    SendOptions options = of_type(name);
    options.rank = rank;
    ASSERT_TRUE(from.send(*from.peer(to.name()), "x", options));
    take(to).done();
  };
  send(queen, worker, "task", kNormal);
  send(queen, helper, "task", kHigh);
  send(helper, worker, "note", kNormal);
  const auto rows = [](Words words) {
    const Words common{"tail", "--json", "--since", "0", "--timeout", "100ms"};
    words.insert(words.begin(), common.begin(), common.end());
    return json_lines(good(words)).size();
  };
  EXPECT_EQ(rows({}), 9U);
  EXPECT_EQ(rows({"--from", "queen"}), 6U);
  EXPECT_EQ(rows({"--to", "worker"}), 6U);
  EXPECT_EQ(rows({"--from", "queen", "--to", "worker"}), 3U);
  EXPECT_EQ(rows({"--type", "note"}), 3U);
  EXPECT_EQ(rows({"--rank", "high"}), 3U);
  EXPECT_EQ(rows({"--type", "note", "--rank", "high"}), 0U);
}

TEST_F(CliHistory, ALongPayloadHasItsFirstBytesAsItsPreview) {
  (void)good({"history", "on", "--previews"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  ASSERT_TRUE(queen.send(*queen.peer("worker"), std::string(3000, 'p')));
  take(worker).done();
  for (const char* name : {"queen", "worker"}) {
    const json row = good_json({"log", name})[0];
    EXPECT_EQ(row.at("preview"), std::string(200, 'p'));
    EXPECT_EQ(row.at("bytes"), 3000);
    EXPECT_NE(good({"log", name}).find(std::string(200, 'p') + "...\n"), std::string::npos);
  }
  EXPECT_EQ(good_json({"log", "worker"})[1].at("preview"), nullptr) << "an end shows none";
}

TEST_F(CliHistory, ATraceShowsTheWayToAnAgentThatWasKilled) {
  (void)good({"history", "on"});
  std::string id;
  {
    Program worker(with_program({"reply", "worker", "--command", "sleep 600", "--temporary"}));
    wait_for_agent("worker");
    Agent queen = attach("queen", true);
    const SendResult sent = queen.send(*queen.peer("worker"), "job");
    ASSERT_TRUE(sent);
    id = id_text(sent.id);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (events_of(good_json({"trace", id})) != Words({"sent", "taken"})) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      ::usleep(5000);
    }
    worker.signal(SIGKILL);
    (void)worker.wait();
  }
  EXPECT_EQ(events_of(good_json({"trace", id})), Words({"sent", "taken"}));
  EXPECT_EQ(events_of(good_json({"log", "worker"})), Words({"taken"}));
}

// The history of an agent of this process, which alone can write it.
std::byte* own_history(Pid pid) {
  std::ifstream maps("/proc/self/maps");
  const std::string name = fmt::format("-history-{}-", pid);
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos || line.find(" rw") == std::string::npos) continue;
    return reinterpret_cast<std::byte*>(std::stoull(line, nullptr, 16));
  }
  return nullptr;
}

template <typename T>
void poke(std::byte* history, std::uint64_t offset, T value) {
  std::memcpy(history + offset, &value, sizeof(value));
}

TEST_F(CliHistory, AnOwnerThatWritesOverItsHistoryLosesThatAloneAndToolsSaySo) {
  (void)good({"history", "on", "--previews"});
  Agent worker = attach("worker");
  Agent queen = attach("queen");
  const auto to = queen.peer("worker");
  const SendResult first = queen.send(*to, "job");
  ASSERT_TRUE(first);
  take(worker).done();
  std::byte* const history = own_history(queen.pid());
  ASSERT_NE(history, nullptr);
  using Layout = shm::HistoryLayout;
  const std::uint64_t row = Layout::rows_of(shm::HistoryRing::kSend);
  const std::uint64_t head = shm::ring_head_at(shm::HistoryRing::kSend);
  // No more than this: to read memory that is not there would make it.
  const std::vector<std::byte> page(history, history + shm::kPage);
  const std::vector<std::byte> first_row(history + row, history + row + sizeof(shm::HistoryRow));
  const std::vector<std::function<void()>> lies{
      [&] { poke(history, head, ~std::uint64_t{0}); },
      [&] { poke(history, head, std::uint64_t{1000}); },  // rows without memory
      [&] { poke(history, row + offsetof(shm::HistoryRow, event), std::uint8_t{99}); },
      [&] { poke(history, row + offsetof(shm::HistoryRow, type_length), std::uint8_t{99}); },
      [&] { poke(history, row + offsetof(shm::HistoryRow, preview_length), std::uint16_t{999}); },
      [&] { poke(history, 0, std::uint64_t{0}); },
  };
  for (const auto& lie : lies) {
    lie();
    const Outcome log = beeline({"log", "queen"});
    EXPECT_EQ(log.code, 4) << log.out;
    EXPECT_TRUE(contains(log.err, "left out")) << log.err;
    const Outcome trace = beeline({"trace", id_text(first.id), "--json"});
    EXPECT_EQ(trace.code, 0);
    EXPECT_EQ(events_of(json::parse(trace.out)), Words({"taken", "done"}));
    std::memcpy(history, page.data(), page.size());
    std::memcpy(history + row, first_row.data(), first_row.size());
  }
  // Everything at once, and nobody but the tools minds.
  std::memset(history, 0xff, shm::kPage);
  std::memset(history + row, 0xff, 64 * sizeof(shm::HistoryRow));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(queen.send(*to, "more"));
    take(worker).done();
  }
  EXPECT_EQ(events_of(good_json_with_remark({"log", "worker"})).size(), 22U);
}

}  // namespace
}  // namespace beeline::test
