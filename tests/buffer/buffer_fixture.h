#pragma once

// A buffer in a folder of its own, with a clock that the test moves.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "src/buffer/ledger.h"
#include "src/buffer/times.h"

namespace beeline::buffer {

// Runs SQL beside the buffer, as the shell of SQLite does. The first value of the last row, or the
// error.
inline std::string run_sql(const std::string& path, const std::string& sql) {
  sqlite3* raw = nullptr;
  std::string value;
  const auto keep = [](void* to, int columns, char** values, char** /*names*/) {
    if (columns > 0 && values[0] != nullptr) *static_cast<std::string*>(to) = values[0];
    return 0;
  };
  sqlite3_open(path.c_str(), &raw);
  if (sqlite3_exec(raw, sql.c_str(), keep, &value, nullptr) != SQLITE_OK)
    value = sqlite3_errmsg(raw);
  sqlite3_close(raw);
  return value;
}

class BufferTest : public testing::Test {
 protected:
  BufferTest() {
    root_ = (std::filesystem::temp_directory_path() / "buffer-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  }
  ~BufferTest() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path() const { return root_ + "/buffer.db"; }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> try_open() {
    return Ledger::open({.path = path(),
                         .config = config_,
                         .now_ms = [this] { return now_ms_; },
                         .lock_patience = lock_patience_});
  }
  // Opens the buffer again, as after a kill.
  void open() {
    ledger_.reset();
    auto ledger = try_open();
    ASSERT_TRUE(ledger) << ledger.error().text;
    ledger_ = std::move(*ledger);
  }

  // The answer to a request that must succeed.
  template <typename Wanted, typename Asked>
  Wanted ask(const Asked& request) {
    auto answer = ledger_->change(request);
    EXPECT_TRUE(answer) << answer.error().text;
    return answer ? std::get<Wanted>(std::move(*answer)) : Wanted{};
  }
  // The error of a request that must fail.
  template <typename Asked>
  Error error_of(const Asked& request) {
    auto answer = ledger_->change(request);
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }

  static Put message(std::string conversation, std::optional<std::int32_t> priority = std::nullopt,
                     std::string channel = "gh") {
    return {.channel = std::move(channel),
            .sender = "ann",
            .conversation = std::move(conversation),
            .payload = "p",
            .priority = priority};
  }
  RowId put(const std::string& conversation, std::optional<std::int32_t> priority = std::nullopt,
            const std::string& channel = "gh") {
    return ask<PutAnswer>(message(conversation, priority, channel)).id;
  }
  RouteAnswer route() { return ask<RouteAnswer>(RouteStep{}); }
  std::optional<Batch> next() { return ask<std::optional<Batch>>(NextBatch{"main"}); }
  std::optional<Task> begin_task() { return ask<std::optional<Task>>(BeginTask{}); }
  AckAnswer ack(BatchId batch) { return ask<AckAnswer>(AckBatch{batch}); }
  std::string sql(const std::string& text) { return run_sql(path(), text); }

  // "conversation: id id", or "none".
  static std::string words(const std::optional<Batch>& batch) {
    if (!batch) return "none";
    std::string text = batch->conversation + ":";
    for (const Message& one : batch->messages) text += " " + std::to_string(one.id);
    return text;
  }

  std::string root_;
  Config config_{};
  std::chrono::milliseconds lock_patience_ = kLockPatience;
  std::int64_t now_ms_ = 1'769'860'800'000;  // 2026-01-31 12:00:00
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace beeline::buffer
