// The buffer, its channels, the main agent and the steward are killed at random. BEELINE_SOAK=1
// kills more often.

#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "tests/buffer_flow/flow_fixture.h"
#include "tests/support/process_tree.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

class BufferSteward : public BufferFlow {
 protected:
  // 0: none runs just now, or the next one has not come yet.
  [[nodiscard]] pid_t new_steward() const {
    std::ifstream file(directory_ + "/beelined.log");
    const std::string log{std::istreambuf_iterator<char>(file), {}};
    const pid_t steward = steward_of(keeper_, log);
    return steward == killed_steward_ ? 0 : steward;
  }
  bool kill_steward() {
    const pid_t steward = new_steward();
    if (steward == 0) return false;
    killed_steward_ = steward;
    ++killed_stewards_;
    return ::kill(steward, SIGKILL) == 0;
  }

  pid_t keeper_ = 0;
  pid_t killed_steward_ = 0;
  int killed_stewards_ = 0;
};

// The parameter is the seed.
class BufferKill : public BufferSteward, public testing::WithParamInterface<unsigned> {
 protected:
  static constexpr std::size_t kPutters = 3;
  static constexpr std::size_t kPrograms = 2 + kPutters;
  using Programs = std::vector<std::unique_ptr<Program>>;

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ + '/' + name; }
  // Starts an actor, or the buffer.
  [[nodiscard]] std::unique_ptr<Program> begin(std::size_t who) const {
    if (who == 0) {
      return std::make_unique<Program>(
          with_program({"buffer", "run", "--db", db_, "--config", config_}));
    }
    const bool is_main = who == 1;
    const std::string name = is_main ? "main" : "putter" + std::to_string(who);
    return std::make_unique<Program>(
        std::vector<std::string>{std::string(::getenv("BEELINE_BIN")) + "/tests/buffer-actor",
                                 is_main ? "main" : "put", name, file(is_main ? "seen" : "put")});
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name) const {
    std::ifstream in(file(name));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  static void kill(Program& program) {
    program.signal(SIGKILL);
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.code, 128 + SIGKILL) << "it has ended by itself: " << outcome.err;
  }
  void kill_one(Programs& programs, std::mt19937& random) {
    if (random() % 5 == 0 && kill_steward()) return;
    const std::size_t who = random() % 3 == 0 ? 0 : random() % programs.size();
    kill(*programs[who]);
    ++killed_[who];
    programs[who] = begin(who);
  }
  void await_the_end_of_all_work() const {
    // Children that ended with their steward keep their places for a minute.
    const std::chrono::seconds patience(is_soak() ? 900 : 200);
    Agent agent = attach("watcher");
    await(
        [&] {
          const json status = ask(agent, "buffer.status");
          int left = 0;
          for (const char* const what :
               {"unrouted", "waiting_batches", "leased_batches", "waiting_tasks", "open_tasks"}) {
            left += status.at(what).get<int>();
          }
          return left == 0;
        },
        patience);
  }
  // Each row came out, and another time only flagged.
  void expect_seen(std::int64_t rows) const {
    std::map<std::int64_t, int> seen;
    int again = 0;
    for (const std::string& line : lines("seen")) {
      const std::size_t blank = line.find(' ');
      const bool is_again = line.substr(blank + 1) == "1";
      const bool was_seen = seen[std::stoll(line)]++ != 0;
      EXPECT_TRUE(is_again || !was_seen) << line << " came twice in silence";
      again += was_seen ? 1 : 0;
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(rows));
    std::cout << rows << " messages for the main agent, " << again << " came again\n";
  }
  void expect_tasks_done() const {
    const std::int64_t tasks = count("buffer_tasks");
    std::cout << tasks << " tasks\n";
    EXPECT_GT(tasks, 0);
    EXPECT_EQ(count("buffer_tasks WHERE status <> 'completed' OR result NOT LIKE '%putter%'"), 0)
        << sql("SELECT group_concat(id || ' ' || status || ' ' || result, '; ') FROM buffer_tasks "
               "WHERE status <> 'completed'");
    EXPECT_EQ(count("buffer WHERE channel = 'job' AND id NOT IN (SELECT r.id FROM "
                    "buffer_routed r JOIN buffer_tasks USING (batch))"),
              0);
  }
  void expect_each_was_killed() const {
    EXPECT_GT(killed_stewards_, 0);
    for (std::size_t who = 0; who < kPrograms; ++who) EXPECT_GT(killed_[who], 0) << who;
  }

  std::array<int, kPrograms> killed_{};
};

// The batch in hand is not touched.
TEST_F(BufferSteward, AKillOfTheStewardLeavesABatchInHand) {
  keeper_ = good_json({"up"}).at("keeper_pid").get<pid_t>();
  start_ready();
  Agent agent = attach("main");
  (void)put(agent, "c", "", "x");
  ask_for_batches(agent, 1);
  Message message = next(agent);
  (void)good({"ps"});  // starts the steward
  ASSERT_TRUE(kill_steward());
  await([&] {
    (void)beeline({"ps"});
    return new_steward() != 0;
  });
  EXPECT_EQ(sql("SELECT state || holder || deliveries FROM buffer_batches"), "leasedmain1");
  message.done();
  await([&] { return ask(agent, "buffer.status").at("leased_batches") == 0; });
  EXPECT_EQ(sql("SELECT state || deliveries FROM buffer_batches"), "done1");
}

// KO-020, KO-021, C-36: what was acknowledged is there once, and comes out.
TEST_P(BufferKill, NothingThatWasAcknowledgedIsLostOrDoubled) {
  const int kills = is_soak() ? 1000 : 125;
  configure(
      "buffer:\n"
      "  batchWindowMs: 10\n"
      "  templates: {echo: {command: [sh, -c, 'exec $BEELINE_BIN/beeline reply $BEELINE_NAME "
      "--tasks --command cat']}}\n"
      "routes: [{match: {channel: job}, action: {spawn: {template: echo, task: '{payload}'}}}]");
  keeper_ = good_json({"up"}).at("keeper_pid").get<pid_t>();
  Programs programs;
  for (std::size_t who = 0; who < kPrograms; ++who) programs.push_back(begin(who));
  std::mt19937 random(GetParam());
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    // The ledgers set the pace: a sleep would kill seldom on a fast machine.
    const std::size_t wanted = lines("put").size() + random() % 6;
    await([&] { return lines("put").size() >= wanted; });
    kill_one(programs, random);
  }
  for (std::size_t who = 2; who < kPrograms; ++who) kill(*programs[who]);
  await_the_end_of_all_work();
  kill(*programs[1]);
  kill(*programs[0]);
  EXPECT_EQ(count("(SELECT payload FROM buffer GROUP BY payload HAVING count(*) > 1)"), 0);
  const auto put = lines("put");
  for (const std::string& payload : put) {
    EXPECT_EQ(count("buffer WHERE payload = '" + payload + "'"), 1) << payload;
  }
  expect_seen(count("buffer WHERE channel <> 'job'"));
  expect_tasks_done();
  expect_each_was_killed();
  std::cout << kills << " kills, " << killed_stewards_ << " of the steward, " << put.size()
            << " acknowledged\n";
}

INSTANTIATE_TEST_SUITE_P(Seeds, BufferKill, testing::Values(1U, 2U, 3U, 4U));

}  // namespace
}  // namespace beeline::test
