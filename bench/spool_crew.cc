#include "bench/spool_crew.h"

#include <functional>
#include <utility>

#include "bench/pair.h"
#include "bench/spool_box.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// Times the work of all sides, from the moment when all are ready. `work` returns an error.
Result<void> time_work(Board& board, Side side, const std::function<Result<void>()>& work) {
  meet(board, side, kStart);
  const std::int64_t begin = os::monotonic_ns();
  auto worked = work();
  meet(board, side, kDone);
  if (side == Side::kPing) board.elapsed_ns = os::monotonic_ns() - begin;
  return worked;
}

Result<void> work_with_library(Board& board, Side side, const SpoolBox& box) {
  auto spool = box.open();
  if (!spool) return tl::unexpected(spool.error());
  const auto do_next = [&]() -> Result<bool> {
    auto claim = SpoolBox::claim(*spool);
    if (!claim) return tl::unexpected(claim.error());
    if (!*claim) return false;
    auto done = SpoolBox::complete(**claim, SpoolBox::completion());
    if (!done) return tl::unexpected(done.error());
    return true;
  };
  // The first claim looks at the whole inbox.
  if (auto done = do_next(); !done) return tl::unexpected(done.error());
  return time_work(board, side, [&]() -> Result<void> {
    for (;;) {
      const auto done = do_next();
      if (!done) return tl::unexpected(done.error());
      if (!*done) return {};
    }
  });
}

Result<void> work_raw(Board& board, Side side, SpoolBox& box, std::size_t tasks) {
  return time_work(board, side, [&]() -> Result<void> {
    for (std::size_t number = number_of(side); number < tasks; number += board.members) {
      const spool::Task task = SpoolBox::task(number);
      if (auto done = box.raw().claim(task.id, SpoolBox::claim_json(number)); !done) return done;
      if (auto done = box.raw().complete(task.id, SpoolBox::result_json(number)); !done) {
        return done;
      }
    }
    return {};
  });
}

}  // namespace

Result<CrewRates> measure_crew(const std::string& place, std::size_t workers, std::size_t tasks) {
  auto board = SharedBoard::create();
  if (!board) return tl::unexpected(board.error());
  auto box = SpoolBox::create(place);
  if (!box) return tl::unexpected(box.error());
  if (auto filled = box->fill(tasks + workers); !filled) return tl::unexpected(filled.error());
  // Returns tasks a second.
  const auto rate_of = [&](const std::function<Result<void>(Side)>& play) -> Result<double> {
    constexpr double kPatience = 300.0;
    board->clear(workers);
    if (auto played = run_pair(**board, kPatience, play); !played) {
      return tl::unexpected(played.error());
    }
    return static_cast<double>(tasks) / static_cast<double>((*board)->elapsed_ns) * 1e9;
  };
  const auto rate = rate_of([&](Side side) { return work_with_library(**board, side, *box); });
  if (!rate) return tl::unexpected(rate.error());
  const auto raw = rate_of([&](Side side) { return work_raw(**board, side, *box, tasks); });
  if (!raw) return tl::unexpected(raw.error());
  return CrewRates{*rate, *raw};
}

}  // namespace beeline::bench
