#pragma once

// The buffer as a value with transactions: every change is a request that is applied between
// begin() and commit(). One thread uses it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <beeline/result.h>

#include "src/buffer/config.h"
#include "src/buffer/database.h"
#include "src/buffer/depth.h"
#include "src/buffer/intake.h"
#include "src/buffer/jobs.h"
#include "src/buffer/limits.h"
#include "src/buffer/order.h"
#include "src/buffer/queries.h"
#include "src/buffer/queue.h"
#include "src/buffer/retention.h"
#include "src/buffer/router.h"
#include "src/buffer/tasks.h"

namespace beeline::buffer {

struct LedgerOptions {
  std::string path{};
  Config config{};
  std::function<std::int64_t()> now_ms{};  // the time of day; empty: the clock of the system
  std::chrono::milliseconds lock_patience = kLockPatience;
  std::string vfs{};  // of SQLite, for tests; empty: the system
};

class Ledger {
 public:
  // Opens the file, or makes it. Errors: as of prepare_schema().
  [[nodiscard]] static Result<std::unique_ptr<Ledger>> open(LedgerOptions options);

  // Errors: as of Database::failed(). After an error of apply() that is not is_refusal(), and after
  // one of commit(), the transaction is to be rolled back.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<Answer> apply(const Request& request);
  [[nodiscard]] Result<void> commit();
  void roll_back();
  // A transaction of one request.
  [[nodiscard]] Result<Answer> change(const Request& request);

  [[nodiscard]] Queries& queries() { return *queries_; }
  [[nodiscard]] const Config& config() const { return options_.config; }
  // So many messages are not done.
  [[nodiscard]] std::uint64_t open_messages() const { return depth_.open(); }

 private:
  Ledger(LedgerOptions options, Database database)
      : options_(std::move(options)), database_(std::move(database)) {}
  // Makes the tables and the parts. They point to the options and the database, so a ledger does
  // not move.
  [[nodiscard]] Result<void> prepare();

  // One for each kind of request.
  Result<Answer> on(const Put& put);
  Result<Answer> on(const RouteStep& step);
  Result<Answer> on(const NextBatch& next);
  Result<Answer> on(const AckBatch& ack);
  Result<Answer> on(const GiveBack& give_back);
  Result<Answer> on(const BeginTask& begin);
  Result<Answer> on(const RunTask& run);
  Result<Answer> on(const PostponeTask& postpone);
  Result<Answer> on(const TaskEnd& end);
  Result<Answer> on(const PruneStep& step);
  Result<Answer> on(const AddJob& add);
  Result<Answer> on(const CancelJob& cancel);
  Result<Answer> on(const FireJobs& fire);

  LedgerOptions options_;
  Database database_;
  std::optional<Queries> queries_{};
  std::optional<Intake> intake_{};
  std::optional<Router> router_{};
  std::optional<Queue> queue_{};
  std::optional<Tasks> tasks_{};
  std::optional<Retention> retention_{};
  std::optional<Jobs> jobs_{};
  Depth depth_{0, 0};
  Depth depth_at_begin_{0, 0};
};

// The request was wrong, and nothing was changed.
[[nodiscard]] bool is_refusal(const Error& error) noexcept;

}  // namespace beeline::buffer
