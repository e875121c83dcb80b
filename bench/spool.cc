#include "bench/spool.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/histogram.h"
#include "bench/machine.h"
#include "bench/pair.h"
#include "bench/spool_box.h"
#include "bench/spool_crew.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

// A directory to measure in.
struct Site {
  std::string place;  // "memory", "disk", or the directory that was named
  std::string dir;
};

// A step of the library and its bare system calls.
struct StepTimes {
  const char* what;
  Histogram library{};
  Histogram raw{};
};

Result<void> timed(Histogram& times, const std::function<Result<void>()>& step) {
  const std::int64_t begin = os::monotonic_ns();
  auto done = step();
  times.record(os::monotonic_ns() - begin);
  return done;
}

// Puts of a round. Its first claim takes them in, and the second one finds no news.
constexpr std::size_t kPuts = 2;

// Times both, now the one first and now the other, because the second finds warmer caches. The
// order changes with the round, not in it, because the first step of a round finds colder ones.
Result<void> time_both(StepTimes& times, const std::function<Result<void>()>& library,
                       const std::function<Result<void>()>& raw) {
  const bool raw_first = times.raw.count() / kPuts % 2 != 0;
  if (raw_first) {
    if (auto done = timed(times.raw, raw); !done) return done;
  }
  if (auto done = timed(times.library, library); !done || raw_first) return done;
  return timed(times.raw, raw);
}

// Claims a task that must be there.
Result<spool::Claim> claim_one(spool::Spool& spool) {
  auto claim = SpoolBox::claim(spool);
  if (!claim) return tl::unexpected(claim.error());
  if (!*claim) return fail(ErrorCode::kSystem, "the tasks of the measurement are gone");
  return std::move(**claim);
}

void add_times(Sink& out, const Site& site, std::size_t waiting, const StepTimes& times) {
  const auto us = [](const Histogram& histogram, double percent) {
    return rounded(static_cast<double>(histogram.percentile(percent)) / 1e3);
  };
  Row row{{"place", site.place}, {"file_system", file_system_of(site.dir)}, {"what", times.what}};
  row["waiting"] = waiting;
  row["us"] = {{"p50", us(times.library, 50.0)}, {"p99", us(times.library, 99.0)}};
  row["raw_us"] = {{"p50", us(times.raw, 50.0)}, {"p99", us(times.raw, 99.0)}};
  row["ratio"] = rounded(static_cast<double>(times.library.percentile(50.0)) /
                         static_cast<double>(times.raw.percentile(50.0)));
  row["count"] = times.library.count();
  out.add(std::move(row));
}

// The first claims of claimers that know nothing yet, beside reading all files of the inbox.
Result<void> time_first_claims(Sink& out, const Site& site, SpoolBox& box, std::size_t waiting,
                               int repetitions) {
  const auto times = std::make_unique<StepTimes>(StepTimes{"first claim"});
  for (int i = 0; i < repetitions; ++i) {
    auto spool = box.open();
    if (!spool) return tl::unexpected(spool.error());
    std::optional<Result<spool::Claim>> claim;  // it goes back when it is destroyed
    auto done = time_both(
        *times,
        [&] {
          claim = claim_one(*spool);
          return *claim ? Result<void>() : tl::unexpected(claim->error());
        },
        [&] { return box.raw().read_inbox(); });
    if (!done) return done;
  }
  add_times(out, site, waiting, *times);
  return {};
}

// The steps of tasks, in turn with those of raw ones, while `waiting` others wait.
class StepClock {
 public:
  StepClock(SpoolBox& box, std::size_t waiting) : box_(box), next_(waiting) {}

  // Goes on until `end` by the monotonic clock, and for a hundred rounds at least. Errors: kSystem.
  [[nodiscard]] Result<void> run(std::int64_t end) {
    auto producer = box_.open();
    if (!producer) return tl::unexpected(producer.error());
    auto worker = box_.open();
    if (!worker) return tl::unexpected(worker.error());
    // The first claim looks at the whole inbox, and goes back when it is destroyed.
    if (auto claim = claim_one(*worker); !claim) return tl::unexpected(claim.error());
    constexpr std::uint64_t kFewest = 100;
    while (os::monotonic_ns() < end || claim_.library.count() < kFewest) {
      for (std::size_t i = 0; i < kPuts; ++i) {
        if (auto done = put(*producer); !done) return done;
      }
      for (std::size_t i = 0; i < kPuts; ++i) {
        if (auto done = claim_and_complete(*worker, i == 0 ? informed_ : claim_); !done)
          return done;
      }
    }
    return {};
  }
  void report(Sink& out, const Site& site, std::size_t waiting) const {
    for (const StepTimes* const times : {&put_, &claim_, &informed_, &complete_}) {
      add_times(out, site, waiting, *times);
    }
  }

 private:
  Result<void> put(spool::Spool& producer) {
    spool::Task task = SpoolBox::task(next_);
    const std::string id = task.id;
    const std::string json = SpoolBox::task_json(next_++);
    return time_both(
        put_, [&] { return SpoolBox::put(producer, std::move(task)); },
        [&] { return box_.raw().put(id, json); });
  }

  Result<void> claim_and_complete(spool::Spool& worker, StepTimes& claim_times) {
    const std::string id = SpoolBox::task(oldest_).id;
    const std::string claim_json = SpoolBox::claim_json(oldest_);
    const std::string result_json = SpoolBox::result_json(oldest_++);
    std::optional<Result<spool::Claim>> claim;
    auto done = time_both(
        claim_times,
        [&] {
          claim = claim_one(worker);
          return *claim ? Result<void>() : tl::unexpected(claim->error());
        },
        [&] { return box_.raw().claim(id, claim_json); });
    if (!done) return done;
    return time_both(
        complete_, [&] { return SpoolBox::complete(**claim, SpoolBox::completion()); },
        [&] { return box_.raw().complete(id, result_json); });
  }

  SpoolBox& box_;
  std::size_t next_;        // the number of the task that is put next
  std::size_t oldest_ = 0;  // and of the one that is claimed next
  StepTimes put_{"put"};
  StepTimes claim_{"claim"};
  StepTimes informed_{"claim, 2 new"};
  StepTimes complete_{"complete"};
};

class Spool final : public Benchmark {
 public:
  Spool()
      : Benchmark({.name = "spool",
                   .help = "The steps of a task folder, next to the system calls that they need",
                   .about = "microseconds of a step while tasks wait, and tasks a second of worker "
                            "processes that empty an inbox; raw: the bare system calls of the "
                            "same steps, in turn in the same run, by as many processes",
                   .columns = {{"place", "/place", 8, 1.0, 0, false, true},
                               {"on", "/file_system", 8, 1.0, 0, false, true},
                               {"what", "/what", 12, 1.0, 0, false, true},
                               {"waiting", "/waiting", 8},
                               {"p50", "/us/p50", 9, 1.0, 1},
                               {"p99", "/us/p99", 9, 1.0, 1},
                               {"raw p50", "/raw_us/p50", 9, 1.0, 1},
                               {"workers", "/workers", 8},
                               {"tasks/s", "/tasks_per_s", 9},
                               {"raw/s", "/raw_tasks_per_s", 9},
                               {"ratio", "/ratio", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 0.5);
    command
        .add_option("--dir", dir_,
                    "A directory to measure in; otherwise /dev/shm and that of this program")
        ->check(CLI::ExistingDirectory);
    command.add_option("--waiting", waiting_, "Tasks in the inbox; several with commas")
        ->default_str("100,10000,100000")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}));
    command.add_option("--workers", workers_, "Processes that empty an inbox; several with commas")
        ->default_str("1,2,4,8")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{1}, kMostMembers));
  }

  Result<void> run(Sink& out) override {
    out.open("the steps: one process, not synced to the disk");
    for (const Site& site : sites()) {
      for (const std::size_t waiting : waiting_) {
        if (auto done = add_steps(out, site, waiting); !done) return done;
      }
      for (const std::size_t workers : workers_) {
        if (auto done = add_crew(out, site, workers); !done) return done;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<Site> sites() const {
    if (!dir_.empty()) return {{dir_, dir_}};
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    return {{"memory", "/dev/shm"}, {"disk", program.parent_path().string()}};
  }

  Result<void> add_steps(Sink& out, const Site& site, std::size_t waiting) const {
    constexpr double kBrief = 0.1;
    constexpr std::size_t kFew = 1'000;
    auto box = SpoolBox::create(site.dir);
    if (!box) return tl::unexpected(box.error());
    if (auto filled = box->fill(waiting); !filled) return filled;
    const int repetitions = flags_.seconds() < kBrief ? 1 : waiting < kFew ? 15 : 3;
    if (auto done = time_first_claims(out, site, *box, waiting, repetitions); !done) return done;
    const auto clock = std::make_unique<StepClock>(*box, waiting);
    const auto length = static_cast<std::int64_t>(flags_.seconds() * 1e9);
    if (auto done = clock->run(os::monotonic_ns() + length); !done) return done;
    clock->report(out, site, waiting);
    return {};
  }

  Result<void> add_crew(Sink& out, const Site& site, std::size_t workers) const {
    constexpr double kTasksPerSecond = 20'000.0;
    constexpr std::size_t kFewest = 200;
    const auto tasks =
        std::max(kFewest, static_cast<std::size_t>(flags_.seconds() * kTasksPerSecond));
    const auto rates = measure_crew(site.dir, workers, tasks);
    if (!rates) return tl::unexpected(rates.error());
    Row row{{"place", site.place}, {"file_system", file_system_of(site.dir)}, {"what", "workers"}};
    row["workers"] = workers;
    row["waiting"] = tasks;
    row["tasks_per_s"] = rounded(rates->tasks_per_s);
    row["raw_tasks_per_s"] = rounded(rates->raw_tasks_per_s);
    row["ratio"] = rounded(rates->raw_tasks_per_s / rates->tasks_per_s);
    out.add(std::move(row));
    return {};
  }

  std::string dir_;
  std::vector<std::size_t> waiting_{100, 10'000, 100'000};
  std::vector<std::size_t> workers_{1, 2, 4, 8};
};

}  // namespace

std::unique_ptr<Benchmark> make_spool() { return std::make_unique<Spool>(); }

}  // namespace beeline::bench
