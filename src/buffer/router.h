#pragma once

// Moves unrouted messages into batches: to the main agent, to a task, or away. Moving and
// `routed = TRUE` are in one transaction.

#include <cstdint>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/buffer/config.h"
#include "src/buffer/database.h"
#include "src/buffer/grouping.h"
#include "src/buffer/rules.h"

namespace beeline::buffer {

// A batch that was dropped, for the log.
struct Dropped {
  BatchId batch = 0;
  std::string channel{};
  std::string conversation{};
  std::uint64_t messages = 0;
  std::size_t route = 0;  // 0: no rule matched, and defaultRoute is drop
};

struct RouteAnswer {
  std::uint64_t routed = 0;  // messages
  bool has_more = false;
  std::uint64_t main_batches = 0;  // that are new or have grown
  std::uint64_t tasks = 0;         // that are new or have grown
  std::vector<Dropped> dropped{};
};

class Router {
 public:
  [[nodiscard]] static Result<Router> open(Database& database, const Rules& rules,
                                           const BatchLimits& limits);

  // Routes the first `most` messages in the order of priority and id; fewer if they are large. The
  // time does not depend on how many wait. REQUIRES: a transaction.
  [[nodiscard]] Result<RouteAnswer> route(std::uint32_t most, std::int64_t now_ms);
  // Routes messages whose way is known. REQUIRES: a transaction.
  [[nodiscard]] Result<void> place(Group& group, const Decision& decision, std::int64_t now_ms);

 private:
  // A batch that nobody has taken yet.
  struct Growing {
    BatchId id = 0;
    Fill fill{};
    std::int32_t priority = 0;
    RowId first_id = 0;
  };

  Router(Database& database, const Rules& rules, const BatchLimits& limits)
      : database_(&database), rules_(&rules), limits_(limits) {}
  [[nodiscard]] Result<std::vector<Message>> unrouted(std::uint32_t most, bool& has_more);
  [[nodiscard]] Result<void> move(Group& group, const Decision& decision, const std::string& now,
                                  RouteAnswer& answer);
  // The batch that a group of this action joins; its id is 0 if there is none.
  [[nodiscard]] Result<Growing> growing(const Group& group, const Action& action);
  [[nodiscard]] Result<void> grow(const Growing& batch, const Group& group, const Slice& slice,
                                  const Action& action);
  [[nodiscard]] Result<BatchId> begin(const Group& group, const Slice& slice,
                                      const Decision& decision, const std::string& now);
  [[nodiscard]] Result<void> begin_task(BatchId batch, const Action& action, const Message& first,
                                        const std::string& now);
  [[nodiscard]] Result<void> mark(const Group& group, const Slice& slice, BatchId batch);

  Database* database_;
  const Rules* rules_;
  BatchLimits limits_;
  Statement unrouted_;
  Statement growing_;
  Statement grow_;
  Statement begin_;
  Statement begin_task_;
  Statement note_task_;
  Statement change_task_;
  Statement mark_;
  Statement note_;
};

}  // namespace beeline::buffer
