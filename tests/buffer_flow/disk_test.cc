// Databases that cannot be written or read, a full disk, retention and the threshold.

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "src/buffer/service/chores.h"
#include "src/buffer/times.h"
#include "src/os/clock.h"
#include "tests/buffer_flow/flow_fixture.h"

namespace beeline::test {
namespace {

// A file system of a few MiB.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    is_there_ = ::mount("none", path_.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_there_) (void)::umount2(path_.c_str(), MNT_DETACH);
  }
  // False where we may mount nothing.
  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] bool forbid_writes() const {
    return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0;
  }

 private:
  std::string path_;
  bool is_there_ = false;
};

class BufferDisk : public BufferFlow {
 protected:
  // Puts until the disk is full.
  static void fill(Agent& agent) {
    const std::string large(200'000, 'x');
    for (int i = 0; i < 100; ++i) {
      const json answer = ask(agent, "buffer.put", {{"channel", "c"}, {"payload", large}});
      if (!answer.contains("error")) continue;
      EXPECT_EQ(answer["error"].value("code", ""), "full") << answer;
      EXPECT_TRUE(contains(answer["error"].value("text", ""), "disk is full")) << answer;
      return;
    }
    ADD_FAILURE() << "the disk is not full";
  }
  // Leaves no room for a small message either.
  static void fill_up(Agent& agent) {
    fill(agent);
    const json small{{"channel", "c"}, {"payload", std::string(2000, 'y')}};
    while (!ask(agent, "buffer.put", small).contains("error")) {
    }
  }
  // The end of a run that cannot begin.
  [[nodiscard]] Outcome refused_run() const {
    return run(with_program({"buffer", "run", "--db", db_, "--config", config_}));
  }
};

TEST_F(BufferDisk, AFullDiskIsSaidAndMessagesWithoutAWordWaitForRoom) {
  const SmallDisk disk(folder_ + "/disk");
  if (!disk.is_there()) GTEST_SKIP() << "we may not mount a small disk here";
  db_ = folder_ + "/disk/buffer.db";
  std::ofstream(folder_ + "/disk/filler") << std::string(1 << 20, 'x');
  start_ready();
  Agent agent = attach("putter");
  fill_up(agent);
  const auto word = agent.send_acked("buffer", std::string(2000, 'z'),
                                     after(std::chrono::seconds(60)), kPlainSend);
  ASSERT_TRUE(word) << word.error().text;
  EXPECT_EQ(word->status, AckStatus::kRejected);
  EXPECT_TRUE(contains(word->reply, "full: ")) << word->reply;
  ASSERT_TRUE(agent.send("buffer", std::string(2000, 'w')));
  EXPECT_TRUE(ask(agent, "buffer.status").contains("unrouted"));
  const std::int64_t rows = count("buffer");
  std::filesystem::remove(folder_ + "/disk/filler");
  await([&] { return count("buffer") == rows + 1; });
  EXPECT_EQ(sql("SELECT substr(payload, 1, 1) FROM buffer ORDER BY id DESC LIMIT 1"), "w");
  (void)put(agent, "c", "", "more");
  (void)stop();
}

// The end of a batch that finds no room is written once there is some.
TEST_F(BufferDisk, TheEndOfABatchWaitsForRoom) {
  const SmallDisk disk(folder_ + "/disk");
  if (!disk.is_there()) GTEST_SKIP() << "we may not mount a small disk here";
  db_ = folder_ + "/disk/buffer.db";
  std::ofstream(folder_ + "/disk/filler") << std::string(1 << 20, 'x');
  start_ready();
  Agent agent = attach("main");
  std::vector<Message> messages;
  for (int i = 0; i < 8; ++i) {
    (void)put(agent, "c", std::to_string(i), "x");
    ask_for_batches(agent, 1);
    messages.push_back(next(agent));
  }
  fill_up(agent);
  // The first ends may fit where a message did not.
  bool is_full = false;
  std::int64_t ended = 0;
  while (!is_full && ended < 8) {
    messages[static_cast<std::size_t>(ended)].done();
    await([&] {
      is_full = contains(log(), "event=not_ended");
      return is_full || count("buffer_batches WHERE state = 'done'") == ended + 1;
    });
    if (!is_full) ++ended;
  }
  EXPECT_TRUE(is_full);
  EXPECT_EQ(count("buffer_batches WHERE state = 'done'"), ended);
  std::filesystem::remove(folder_ + "/disk/filler");
  await([&] { return count("buffer_batches WHERE state = 'done'") == ended + 1; });
  EXPECT_EQ(count("buffer_batches WHERE state = 'leased'"), 7 - ended);
  (void)stop();
}

// The same where we may mount nothing: no file may grow beyond a limit.
TEST_F(BufferDisk, AFileAtItsLimitIsAFullDisk) {
  start_ready();
  Agent agent = attach("putter");
  (void)put(agent, "c", "", "first");
  const rlimit limit{8 << 20, 8 << 20};
  ASSERT_EQ(::prlimit(buffer_->pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  fill(agent);
  EXPECT_TRUE(ask(agent, "buffer.status").contains("unrouted"));
  (void)stop(SIGKILL);
}

TEST_F(BufferDisk, ADatabaseThatCanOnlyBeReadIsRefused) {
  const SmallDisk disk(folder_ + "/disk");
  if (disk.is_there()) {
    db_ = folder_ + "/disk/buffer.db";
    ASSERT_TRUE(disk.forbid_writes());
  } else {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
    std::ofstream(db_) << "";
    ::chmod(db_.c_str(), 0400);
  }
  const Outcome outcome = refused_run();
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, db_)) << outcome.err;
  EXPECT_FALSE(is_up()) << "it never attached";
}

TEST_F(BufferDisk, ADatabaseOfALaterVersionOrADamagedOneIsRefused) {
  start_ready();
  (void)stop();
  EXPECT_EQ(sql("UPDATE buffer_meta SET version = 999"), "");
  Outcome outcome = refused_run();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "999")) << outcome.err;
  EXPECT_NE(bad(1, {"buffer", "status", "--db", db_}), "");
  std::filesystem::remove(db_);
  std::ofstream(db_) << std::string(8192, 'x');
  outcome = refused_run();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "damaged")) << outcome.err;
}

TEST_F(BufferDisk, OneBufferKeepsAFile) {
  start_ready();
  const Outcome second =
      run(with_program({"buffer", "run", "--db", db_, "--config", config_, "--name", "other"}));
  EXPECT_EQ(second.code, 3);
  EXPECT_TRUE(contains(second.err, "another buffer keeps this database")) << second.err;
}

// KO-022: what is done and old goes, at the start and by the command; all else stays.
TEST_F(BufferDisk, OldMessagesThatAreDoneAreRemoved) {
  start_ready();
  Agent agent = attach("main");
  for (const char* const payload : {"done", "open", "kept"})
    (void)put(agent, "c", payload, payload);
  await_routed(agent);
  (void)ask(agent, "buffer.ack", {{"batch", ask(agent, "buffer.take")["batch"]["id"]}});
  (void)ask(agent, "buffer.take");
  EXPECT_EQ(good_json({"buffer", "prune"}), (json{{"messages", 0}, {"batches", 0}}));
  EXPECT_EQ(good({"buffer", "prune", "--days", "0"}), "removed 1 messages and 1 batches\n");
  EXPECT_EQ(count("buffer"), 2);
  (void)ask(agent, "buffer.ack", {{"batch", 2}});
  (void)stop();
  EXPECT_EQ(sql("UPDATE buffer SET received_at = '2020-01-01 00:00:00'"), "");
  EXPECT_EQ(sql("UPDATE buffer_batches SET ended_at = '2020-01-01 00:00:00.000' WHERE id = 2"), "");
  start();
  await([&] { return count("buffer") == 1; });
  EXPECT_EQ(sql("SELECT payload FROM buffer"), "kept");
}

// KO-022: and each day. A test that waits for none takes the alarm.
TEST_F(BufferDisk, OldMessagesAreRemovedEachDay) {
  using buffer::Duty;
  constexpr std::int64_t kDayNs = buffer::kDayMs * 1'000'000;
  (void)good({"up"});
  Agent agent = attach("buffer");
  auto writer = buffer::Writer::start(*buffer::Ledger::open({.path = db_}));
  ASSERT_TRUE(writer);
  buffer::Alarms alarms;
  buffer::Again again(alarms);
  buffer::Orders orders(**writer);
  buffer::Post post(agent, alarms);
  buffer::Chores chores({orders, post, alarms, again}, {}, 7);
  for (int day = 0; day < 3; ++day) {
    EXPECT_EQ(sql("INSERT INTO buffer (channel, sender, conversation, payload, received_at, routed)"
                  " VALUES ('c', '', '', '', '2020-01-01', TRUE)"),
              "");
    const std::int64_t before = os::monotonic_ns();
    chores.prune_daily();
    await([&] {
      orders.hear();
      return orders.is_idle();
    });
    EXPECT_EQ(count("buffer"), 0);
    EXPECT_TRUE(alarms.take_due(before + kDayNs - 1).empty());
    EXPECT_EQ(alarms.take_due(os::monotonic_ns() + kDayNs), std::vector{Duty::kPrune});
  }
}

// KO-006, KO-023, KO-024, C-19: nothing is routed before the tick; the buffer grows, warns once for
// each crossing, and says how full it is.
TEST_F(BufferDisk, TheThresholdIsWarnedOnceAndTheStatusCounts) {
  configure("buffer: {batchWindowMs: 3600000, warnThreshold: 3}");
  start_ready();
  Agent agent = attach("main");
  for (int i = 0; i < 4; ++i) (void)put(agent, "a", "", "x");
  (void)put(agent, "b", "", "x");
  const json status = good_json({"buffer", "status"});
  EXPECT_EQ(status.at("unrouted"), 5);
  EXPECT_EQ(status.at("threshold"), 3);
  EXPECT_EQ(status.at("database"), db_);
  ASSERT_EQ(status.at("channels").size(), 2U);
  EXPECT_EQ(status.at("channels")[0].at("channel"), "a");
  EXPECT_EQ(status.at("channels")[0].at("unrouted"), 4);
  EXPECT_GE(status.at("oldest_age_ms"), status.at("channels")[1].at("oldest_age_ms"));
  const std::string text = good({"buffer", "status"});
  EXPECT_TRUE(contains(text, "unrouted  5")) << text;
  EXPECT_TRUE(contains(text, "  channel  unrouted  oldest\n  a               4 ")) << text;
  EXPECT_TRUE(contains(text, "\n  b               1 ")) << text;
  EXPECT_EQ(ask(agent, "buffer.take").at("batch"), json()) << "not before the tick";
  const std::string log = stop();
  const std::size_t first = log.find("event=threshold");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("event=threshold", first + 1), std::string::npos) << log;
  EXPECT_TRUE(contains(log, "4 messages are not done")) << log;
}

}  // namespace
}  // namespace beeline::test
