#pragma once

// Orders of the receiving thread to the writing thread. The same object comes back with the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <beeline/result.h>

#include "src/buffer/batch.h"
#include "src/buffer/intake.h"
#include "src/buffer/job.h"
#include "src/buffer/jobs.h"
#include "src/buffer/limits.h"
#include "src/buffer/message.h"
#include "src/buffer/queue.h"
#include "src/buffer/retention.h"
#include "src/buffer/router.h"
#include "src/buffer/task.h"

namespace beeline::buffer {

// Requests, each with its answer.
struct RouteStep {  // RouteAnswer
  std::uint32_t most = kRouteRows;
};
struct NextBatch {  // std::optional<Batch>
  std::string holder{};
};
struct AckBatch {  // AckAnswer
  BatchId batch = 0;
};
struct GiveBack {     // std::uint64_t: how many were given back
  BatchId batch = 0;  // 0: all
};
struct BeginTask {};  // std::optional<Task>
struct RunTask {      // nothing
  TaskId task = 0;
  std::int64_t pid = 0;
};
struct PostponeTask {  // nothing
  TaskId task = 0;
  std::string reason{};
};
struct PruneStep {  // PruneAnswer
  std::int64_t before_unix_ms = 0;
  PrunePlace from{};
  std::uint32_t most = kPruneRows;
};
struct AddJob {  // JobId
  Job job{};
};
struct CancelJob {  // nothing
  JobId job = 0;
};
struct FireJobs {};  // FireAnswer

// A Put has a PutAnswer, a TaskEnd an AckAnswer.
using Request = std::variant<Put, RouteStep, NextBatch, AckBatch, GiveBack, BeginTask, RunTask,
                             PostponeTask, TaskEnd, PruneStep, AddJob, CancelJob, FireJobs>;

struct NoAnswer {};
using Answer = std::variant<NoAnswer, PutAnswer, RouteAnswer, std::optional<Batch>, AckAnswer,
                            std::uint64_t, std::optional<Task>, PruneAnswer, JobId, FireAnswer>;

struct Order {
  std::uint64_t token = 0;  // of the receiving thread
  Request request{};
  Result<Answer> answer = NoAnswer{};
};

}  // namespace beeline::buffer
