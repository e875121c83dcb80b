#pragma once

// One-shot jobs. A job fires once: its message and its end are one transaction. A job that is past
// due fires at once.

#include <cstdint>
#include <optional>
#include <vector>

#include <beeline/result.h>

#include "src/buffer/database.h"
#include "src/buffer/intake.h"
#include "src/buffer/job.h"
#include "src/buffer/router.h"

namespace beeline::buffer {

struct FireAnswer {
  std::uint64_t messages = 0;  // that became unrouted
  std::uint64_t tasks = 0;
  bool has_more = false;
  std::uint64_t warned = 0;  // not 0: so many messages are open, more than the threshold
  std::optional<std::int64_t> next_due_unix_ms{};  // of the next job that waits
};

class Jobs {
 public:
  [[nodiscard]] static Result<Jobs> open(Database& database, Intake& intake, Router& router);

  // All calls REQUIRE a transaction.
  [[nodiscard]] Result<JobId> add(const Job& job);
  // Errors: kInvalid, if it is not pending.
  [[nodiscard]] Result<void> cancel(JobId job, std::int64_t now_ms);
  [[nodiscard]] Result<FireAnswer> fire(std::int64_t now_ms);

 private:
  Jobs(Database& database, Intake& intake, Router& router)
      : database_(&database), intake_(&intake), router_(&router) {}
  [[nodiscard]] Result<std::vector<Job>> due(std::int64_t now_ms);
  [[nodiscard]] Result<void> fire_one(const Job& job, std::int64_t now_ms, FireAnswer& answer);

  Database* database_;
  Intake* intake_;
  Router* router_;
  Statement find_;
  Statement add_;
  Statement due_;
  Statement end_;
  Statement next_;
};

}  // namespace beeline::buffer
