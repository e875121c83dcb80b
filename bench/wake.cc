#include "bench/wake.h"

#include "bench/latency.h"
#include "bench/run.h"

namespace beeline::bench {
namespace {

void fill_wake(Row& row, const Case& what, const Outcome& outcome) {
  row["size"] = what.size;
  row["payload"] = to_string(what.carry);
  row["by"] = to_string(what.limit());
  row["rtt_ns"] = percentiles_json(outcome.rtt_ns);
  row["raw_rtt_ns"] = {{"p50", outcome.limit.middle()}};
  row["ratio_p50"] = ratio_of(outcome);
}

class Wake final : public Benchmark {
 public:
  Wake()
      : Benchmark({.name = "wake",
                   .help = "Round trips of agents that sleep, next to what they sleep on",
                   .about = "both agents asleep, ns; raw: p50 of the bare round trip of the same "
                            "primitive, in the same run",
                   .columns = {{"size", "/size", 8, 1.0, 0, true},
                               {"payload", "/payload"},
                               {"by", "/by", 10},
                               {"p50", "/rtt_ns/p50"},
                               {"p99", "/rtt_ns/p99"},
                               {"p99.9", "/rtt_ns/p999"},
                               {"max", "/rtt_ns/max"},
                               {"raw", "/raw_rtt_ns/p50"},
                               {"ratio", "/ratio_p50", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    flags_.add_run(command, 1.0).add_attempts(command).add_sizes(command, {64});
    flags_.add_carry(command).add_hist(command);
    command.add_flag("--futex", futex_, "Only those that sleep in receive()");
    command.add_flag("--eventfd", eventfd_, "Only those that sleep on Agent::fd()");
  }

  Result<void> run(Sink& out) override {
    std::vector<Case> rows;
    for (const bool events : {false, true}) {
      if ((events ? futex_ : eventfd_) && futex_ != eventfd_) continue;
      for (Case row : flags_.sized()) {
        row.events = events;
        rows.push_back(row);
      }
    }
    return run_rows_in_hive(out, flags_, flags_.cases(rows, {WaitMode::kSleep}), run_latency,
                            fill_wake);
  }

 private:
  bool futex_ = false;
  bool eventfd_ = false;
};

}  // namespace

std::unique_ptr<Benchmark> make_wake() { return std::make_unique<Wake>(); }

}  // namespace beeline::bench
