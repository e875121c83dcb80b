// The thread that writes: KO-021, and many senders with one sync.

#include "src/buffer/writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <string>

#include "src/os/event_fd.h"
#include "tests/buffer/buffer_fixture.h"
#include "tests/support/soak.h"

namespace beeline::buffer {
namespace {

class BufferWriter : public BufferTest {
 protected:
  void start() {
    open();
    auto writer = Writer::start(std::move(ledger_));
    ASSERT_TRUE(writer) << writer.error().text;
    writer_ = std::move(*writer);
  }
  bool submit(Request request, std::uint64_t token = 0) {
    auto order = std::make_unique<Order>(Order{.token = token, .request = std::move(request)});
    return writer_->submit(order);
  }
  std::unique_ptr<Order> wait_for_answer() {
    for (;;) {
      if (auto order = writer_->take()) return order;
      (void)os::wait_readable(writer_->fd(), std::chrono::nanoseconds::max());
    }
  }
  static RowId row_of(const Order& order) { return std::get<PutAnswer>(*order.answer).id; }

  std::unique_ptr<Writer> writer_;
};

TEST_F(BufferWriter, AnswersComeInTheOrderOfTheOrders) {
  start();
  EXPECT_EQ(writer_->take(), nullptr);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(submit(message("a"), i));
  ASSERT_TRUE(submit(RouteStep{}, 100));
  ASSERT_TRUE(submit(NextBatch{"main"}, 101));
  EXPECT_EQ(writer_->pending(), 102U);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto order = wait_for_answer();
    EXPECT_EQ(order->token, i);
    EXPECT_EQ(row_of(*order), static_cast<RowId>(i + 1));
  }
  EXPECT_EQ(std::get<RouteAnswer>(*wait_for_answer()->answer).routed, 100U);
  EXPECT_EQ(std::get<std::optional<Batch>>(*wait_for_answer()->answer)->messages.size(), 100U);
  EXPECT_EQ(writer_->pending(), 0U);
  EXPECT_LT(writer_->commits(), 102U) << "orders that come during a sync share the next one";
}

TEST_F(BufferWriter, AWrongOrderDoesNotHarmItsNeighbours) {
  start();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(submit(i % 2 == 0 ? Request(message("a")) : Request(AckBatch{99})));
  }
  for (std::uint64_t i = 0; i < 50; ++i) wrong += wait_for_answer()->answer ? 0U : 1U;
  EXPECT_EQ(wrong, 25U);
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), "25");
}

TEST_F(BufferWriter, TooManyOrdersStayWithTheirSender) {
  start();
  std::size_t taken = 0;
  auto order = std::make_unique<Order>(Order{.request = message("a")});
  while (writer_->pending() < kMostOrders) {
    order = std::make_unique<Order>(Order{.request = message("a")});
    ASSERT_TRUE(writer_->submit(order));
  }
  order = std::make_unique<Order>(Order{.request = message("a")});
  EXPECT_FALSE(writer_->submit(order));
  ASSERT_NE(order, nullptr);
  for (; taken < kMostOrders; ++taken) ASSERT_TRUE(wait_for_answer()->answer);
  EXPECT_TRUE(writer_->submit(order));
  writer_.reset();  // writes it
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), std::to_string(kMostOrders + 1));
}

TEST_F(BufferWriter, ALockedFileIsSaid) {
  lock_patience_ = std::chrono::milliseconds(20);
  start();
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_TRUE(submit(message("a")));
  const auto order = wait_for_answer();
  ASSERT_FALSE(order->answer);
  EXPECT_EQ(order->answer.error().code, ErrorCode::kTimeout);
  EXPECT_NE(order->answer.error().text.find("another program holds the file"), std::string::npos);
  sqlite3_close(raw);
  ASSERT_TRUE(submit(message("a")));
  EXPECT_TRUE(wait_for_answer()->answer);
}

// Puts messages with keys, routes, pulls and acknowledges; writes the keys that were answered.
class Victim : public BufferWriter {
 protected:
  struct Report {
    char what = 0;  // 'p'ut or 'a'cknowledged
    std::uint64_t token = 0;
    RowId id = 0;
  };

  [[noreturn]] void live(int report_fd, std::uint64_t first_token) {
    start();
    std::uint64_t token = first_token;
    for (;;) {
      for (int i = 0; i < 20; ++i, ++token) {
        Put put = message("c" + std::to_string(token % 3));
        put.key = std::to_string(token);
        (void)submit(std::move(put), token);
      }
      (void)submit(RouteStep{});
      (void)submit(GiveBack{});
      (void)submit(NextBatch{"main"});
      std::optional<Batch> batch;
      while (writer_->pending() != 0) {
        const auto order = wait_for_answer();
        if (auto* put = std::get_if<PutAnswer>(&*order->answer)) {
          report(report_fd, {'p', order->token, put->id});
        } else if (auto* next = std::get_if<std::optional<Batch>>(&*order->answer)) {
          batch = std::move(*next);
        }
      }
      if (!batch) continue;
      (void)submit(AckBatch{batch->id});
      (void)wait_for_answer();
      for (const Message& one : batch->messages) report(report_fd, {'a', 0, one.id});
    }
  }
  static void report(int fd, Report report) { (void)!::write(fd, &report, sizeof report); }
};

TEST_F(Victim, KillsNeitherLoseNorDoubleAnsweredMessages) {  // KO-021, C-11
  const int kills = test::is_soak() ? 500 : 20;
  std::mt19937 random(7);
  std::map<std::uint64_t, RowId> answered;
  std::map<RowId, int> acknowledged;
  for (int kill = 0; kill < kills; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) live(pipe[1], static_cast<std::uint64_t>(kill) * 1'000'000);
    ::close(pipe[1]);
    // The life ends after a random number of answers.
    int left = static_cast<int>(random() % 100);
    Report report;
    while (::read(pipe[0], &report, sizeof report) == ssize_t{sizeof report}) {
      if (report.what == 'p') answered[report.token] = report.id;
      if (report.what == 'a') ++acknowledged[report.id];
      if (left-- == 0) ::kill(child, SIGKILL);
    }
    ::close(pipe[0]);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
  open();
  EXPECT_EQ(sql("PRAGMA integrity_check"), "ok");
  for (const auto& [token, id] : answered) {
    Put put = message("c");
    put.key = std::to_string(token);
    const auto again = ask<PutAnswer>(put);
    EXPECT_TRUE(again.is_repeat);
    EXPECT_EQ(again.id, id);
  }
  EXPECT_EQ(sql("SELECT count(*) - count(DISTINCT key) FROM buffer_origins"), "0");
  // Drain: each message that was not acknowledged comes, and none that was.
  ask<std::uint64_t>(GiveBack{});
  while (route().has_more) {
  }
  const std::uint64_t rows = std::stoull(sql("SELECT count(*) FROM buffer"));
  std::uint64_t done =
      std::stoull(sql("SELECT coalesce(sum(messages), 0) FROM buffer_batches "
                      "WHERE state = 'done'"));
  for (auto batch = next(); batch; batch = next()) {
    for (const Message& one : batch->messages) EXPECT_EQ(acknowledged.count(one.id), 0U);
    done += batch->messages.size();
  }
  for (const auto& [id, times] : acknowledged) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(done, rows);
}

}  // namespace
}  // namespace beeline::buffer
