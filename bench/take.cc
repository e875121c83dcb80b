#include "bench/take.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/histogram.h"
#include "bench/store.h"
#include "src/buffer/database.h"
#include "src/buffer/ledger.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/fd.h"

namespace beeline::bench {
namespace {

// A hundred messages in a row have one conversation, so they are a batch.
constexpr const char* kFill =
    "WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ?1) "
    "INSERT INTO buffer (channel, sender, conversation, payload, received_at) "
    "SELECT 'bench', 'sender', printf('conversation-%09d', i / ?2), ?3, '2026-01-01 00:00:00.000' "
    "FROM numbers";

std::string conversation_of(std::size_t number) {
  return fmt::format("conversation-{:09}", number / kTakenMessages);
}

Result<std::unique_ptr<buffer::Ledger>> open_ledger(const std::string& path) {
  buffer::LedgerOptions options;
  options.path = path;
  return buffer::Ledger::open(std::move(options));
}

// Waits until the disk has all of the file, so that it does not write while we measure.
Result<void> sync_file(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fsync(file.get()) != 0) return os::system_failure("sync " + path);
  return {};
}

// In one transaction without a journal, because nobody needs these messages after a crash.
Result<void> fill_ledger(const std::string& path, std::size_t rows) {
  if (auto made = open_ledger(path); !made) return tl::unexpected(made.error());
  {
    auto database = buffer::Database::open(path);
    if (!database) return tl::unexpected(database.error());
    if (auto set = database->run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                                 "PRAGMA cache_size=-65536; BEGIN");
        !set) {
      return set;
    }
    auto fill = database->prepare(kFill);
    if (!fill) return tl::unexpected(fill.error());
    const auto filled = buffer::Cursor(*database, *fill, static_cast<std::int64_t>(rows),
                                       std::int64_t{kTakenMessages}, store_payload(0))
                            .finish("fill the ledger");
    if (!filled) return filled;
    if (auto done = database->run("COMMIT"); !done) return done;
  }
  return sync_file(path);
}

class TakeClock {
 public:
  TakeClock(std::unique_ptr<buffer::Ledger> ledger, std::size_t rows)
      : ledger_(std::move(ledger)), next_(rows) {}

  // Puts the next batch in, and takes the oldest one.
  Result<void> step(bool is_timed) {
    if (auto done = put_batch(); !done) return done;
    const std::int64_t begin = os::monotonic_ns();
    if (auto begun = ledger_->begin(); !begun) return begun;
    if (auto taken = take_batch(); !taken) return taken;
    const std::int64_t taken_at = os::monotonic_ns();
    if (auto done = ledger_->commit(); !done) return done;
    if (!is_timed) return {};
    take_.record(taken_at - begin);
    commit_.record(os::monotonic_ns() - taken_at);
    return {};
  }

  [[nodiscard]] TakeTimes times() const {
    return {take_.percentile(50.0), take_.percentile(99.0), commit_.percentile(50.0)};
  }

 private:
  Result<void> put_batch() {
    if (auto begun = ledger_->begin(); !begun) return begun;
    for (std::size_t i = 0; i < kTakenMessages; ++i) {
      buffer::Put put;
      put.channel = "bench";
      put.sender = "sender";
      put.conversation = conversation_of(next_);
      put.payload = store_payload(next_++);
      if (auto done = ledger_->apply(put); !done) return tl::unexpected(done.error());
    }
    return ledger_->commit();
  }

  Result<void> take_batch() {
    const auto routed = ledger_->apply(buffer::RouteStep{kTakenMessages});
    if (!routed) return tl::unexpected(routed.error());
    const auto next = ledger_->apply(buffer::NextBatch{"main"});
    if (!next) return tl::unexpected(next.error());
    const auto& batch = std::get<std::optional<buffer::Batch>>(*next);
    if (!batch || batch->messages.size() != kTakenMessages) {
      return fail(ErrorCode::kSystem,
                  fmt::format("a batch has {} messages in place of {}",
                              batch ? batch->messages.size() : 0, kTakenMessages));
    }
    const auto ended = ledger_->apply(buffer::AckBatch{batch->id});
    return ended ? Result<void>() : tl::unexpected(ended.error());
  }

  std::unique_ptr<buffer::Ledger> ledger_;
  std::size_t next_;  // the number of the message that is put next
  Histogram take_{};
  Histogram commit_{};
};

// Makes a ledger, fills it and opens it.
Result<std::unique_ptr<TakeClock>> prepare_clock(const std::string& path, std::size_t rows) {
  // Whole batches.
  rows = (rows + kTakenMessages - 1) / kTakenMessages * kTakenMessages;
  if (auto filled = fill_ledger(path, rows); !filled) return tl::unexpected(filled.error());
  auto ledger = open_ledger(path);
  if (!ledger) return tl::unexpected(ledger.error());
  return std::make_unique<TakeClock>(std::move(*ledger), rows);
}

}  // namespace

Result<std::vector<TakeTimes>> measure_takes(const std::string& folder,
                                             const std::vector<std::size_t>& rows,
                                             std::size_t runs) {
  constexpr std::size_t kWarmRuns = 5;
  std::vector<std::unique_ptr<TakeClock>> clocks;
  for (const std::size_t number : rows) {
    auto clock = prepare_clock(fmt::format("{}/ledger-{}.db", folder, clocks.size()), number);
    if (!clock) return tl::unexpected(clock.error());
    clocks.push_back(std::move(*clock));
  }
  for (std::size_t run = 0; run < kWarmRuns + runs; ++run) {
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      const auto done = clocks[(run + i) % clocks.size()]->step(run >= kWarmRuns);
      if (!done) return tl::unexpected(done.error());
    }
  }
  std::vector<TakeTimes> times;
  for (const auto& clock : clocks) times.push_back(clock->times());
  return times;
}

}  // namespace beeline::bench
