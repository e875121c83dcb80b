#pragma once

// Work by the clock: old rows go at the start and each day, jobs fire when they are due.

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "src/buffer/job.h"
#include "src/buffer/retention.h"
#include "src/buffer/service/again.h"
#include "src/buffer/service/alarms.h"
#include "src/buffer/service/orders.h"
#include "src/buffer/service/post.h"

namespace beeline::buffer {

class Chores {
 public:
  struct Parts {
    Orders& orders;
    Post& post;
    Alarms& alarms;
    Again& again;
  };
  struct Events {
    std::function<void()> unrouted{};                   // a job became a message
    std::function<void()> tasks{};                      // a job became a task
    std::function<void(std::uint64_t open)> crossed{};  // the threshold; 0: it was not
  };
  Chores(const Parts& parts, Events events, std::uint32_t retention_days)
      : parts_(parts), events_(std::move(events)), retention_days_(retention_days) {}

  // Removes old rows, also each day from now on.
  void prune_daily();
  // Answers a request to remove the rows that are older than so many days.
  void prune(Lease lease, std::uint32_t days);
  void add_job(Lease lease, const Job& job);
  void cancel_job(Lease lease, JobId job);
  // Fires the jobs that are due.
  void fire_jobs();
  // At the alarm.
  void hear_jobs_due();

 private:
  // Steps until nothing is left.
  struct Pruning {
    std::int64_t before_unix_ms = 0;
    PrunePlace from{};
    std::uint64_t messages = 0;
    std::uint64_t batches = 0;
  };
  void step(Pruning pruning, Lease lease);
  void hear_fired(Result<Answer> answer);
  void set_job_alarm();

  Parts parts_;
  Events events_;
  std::uint32_t retention_days_;
  std::optional<std::int64_t> next_due_unix_ms_{};
};

}  // namespace beeline::buffer
