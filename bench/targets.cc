#include "bench/targets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bench/case.h"

namespace beeline::bench {
namespace {

// ---- Figures of a row ---------------------------------------------------------------------------

using Value = std::function<std::optional<double>(const Row&)>;

Value at(std::string pointer, double scale = 1.0) {
  return [pointer = std::move(pointer), scale](const Row& row) -> std::optional<double> {
    const Row value = value_at(row, pointer);
    if (!value.is_number()) return std::nullopt;
    return value.get<double>() * scale;
  };
}

template <typename Operation>
Value combined(Value one, Value other, Operation operation) {
  return [=](const Row& row) -> std::optional<double> {
    const auto left = one(row);
    const auto right = other(row);
    if (!left || !right) return std::nullopt;
    return operation(*left, *right);
  };
}

Value over(Value one, Value other) {
  return combined(std::move(one), std::move(other), std::divides<>());
}
Value minus(Value one, Value other) {
  return combined(std::move(one), std::move(other), std::minus<>());
}

const Value kNone = [](const Row&) { return std::optional<double>(); };
const Value kLimit = at("/limit_rtt_ns/p50");

// How many times a neighbour's figure ours is; nothing if the machine changed between them.
const Value kTimes = over([](const Row&) { return std::optional(1.0); }, at("/ratio_to_beeline"));

// ---- Targets ------------------------------------------------------------------------------------

// The rows of one measurement: those of a test with these values; null: without a value there.
struct Measurement {
  std::string test;
  Row values;
};

enum class Bound { kAtMost, kUnder, kAtLeast };

struct Target {
  std::string what{};
  Bound bound = Bound::kAtMost;
  std::optional<double> wanted = std::nullopt;  // nothing: the figure is reported, not judged
  std::string unit{};
  int digits = 2;
  Measurement of{};
  Value value = kNone;
  Value low = kNone;  // the spread; without: `value`
  Value high = kNone;
  Value limit = kLimit;
  std::string limit_unit = " ns";
  int limit_digits = 0;
  // The target applies if the limit is this or less.
  double where_limit = std::numeric_limits<double>::infinity();
  // Another measurement as the base of a ratio, if their limits agree.
  std::optional<Measurement> base = std::nullopt;
};

Target round_trip(const std::string& what, double wanted, Measurement of) {
  return {.what = what,
          .wanted = wanted,
          .of = std::move(of),
          .value = over(at("/rtt_ns/p50"), kLimit),
          .high = over(at("/rtt_ns/p99"), kLimit)};
}

Target streamed(const std::string& what, std::optional<double> wanted, Measurement of) {
  return {.what = what,
          .bound = Bound::kAtLeast,
          .wanted = wanted,
          .unit = " million/s",
          .of = std::move(of),
          .value = at("/messages_per_s", 1e-6),
          .low = at("/window_messages_per_s/min", 1e-6),
          .high = at("/window_messages_per_s/max", 1e-6)};
}

Target beside_iceoryx(const std::string& what, double wanted, Row values) {
  values["peer"] = "iceoryx";
  values["mode"] = "spin";
  return {.what = what,
          .bound = Bound::kAtLeast,
          .wanted = wanted,
          .of = {"peers", std::move(values)},
          .value = kTimes};
}

Target at_1000(const std::string& what, Bound bound, std::optional<double> wanted,
               const std::string& unit, Value value, Value high = kNone) {
  return {.what = what,
          .bound = bound,
          .wanted = wanted,
          .unit = unit,
          .of = {"scale", {{"agents", 1000}, {"mode", "adaptive"}}},
          .value = std::move(value),
          .high = std::move(high),
          .limit = kNone};
}

Measurement awake(std::size_t size, const char* payload) {
  return {"latency", {{"size", size}, {"mode", "spin"}, {"payload", payload}, {"rate", nullptr}}};
}

Measurement deep(std::size_t depth) { return {"inbox", {{"depth", depth}, {"size", 64}}}; }

// Streams that are received up to 32 at a time are judged; those received one by one stand beside
// them.
void add_streams(std::vector<Target>& all) {
  constexpr std::size_t kBatch = 32;
  const auto one_way = [](std::size_t batch) {
    return Measurement{"throughput",
                       {{"size", 64}, {"mode", "spin"}, {"payload", "lane"}, {"batch", batch}}};
  };
  const auto of_three = [](std::size_t batch) {
    return Measurement{"fanin", {{"size", 64}, {"mode", "spin"}, {"senders", 3}, {"batch", batch}}};
  };
  all.push_back(
      streamed("one way, 64 B, up to 32 a call (40 next, 60 the aim)", 25.0, one_way(kBatch)));
  all.back().where_limit = 120.0;
  all.push_back(streamed("one way, 64 B, one a call", std::nullopt, one_way(1)));
  all.push_back(beside_iceoryx("one way, 64 B, one a call, times iceoryx", 10.0,
                               {{"kind", "throughput"}, {"size", 64}}));
  all.push_back(streamed("three senders to one, 64 B, up to 32 a call", 20.0, of_three(kBatch)));
  all.push_back(streamed("three senders to one, 64 B, one a call", std::nullopt, of_three(1)));
  all.push_back(beside_iceoryx("three senders to one, 64 B, one a call, times iceoryx", 8.0,
                               {{"kind", "fanin"}, {"size", 64}}));
}

void add_messages(std::vector<Target>& all) {
  constexpr std::size_t kMiB = 1 << 20;
  all.push_back(round_trip("round trip, 16 B, awake, over the limit", 1.35, awake(16, "lane")));
  all.push_back(round_trip("round trip, 64 B, awake, over the limit", 1.5, awake(64, "lane")));
  all.push_back(
      round_trip("round trip, 1 KiB whole, awake, over the limit", 3.0, awake(1024, "loan")));
  Target loan =
      round_trip("round trip, 1 MiB untouched, over 64 B in a slab", 1.1, awake(kMiB, "untouched"));
  loan.value = at("/rtt_ns/p50");
  loan.high = kNone;
  loan.base = awake(64, "untouched");
  all.push_back(std::move(loan));
  add_streams(all);
  const Row filled{{"kind", "fill"}, {"size", kMiB}};
  Row ours = filled;
  ours["peer"] = "beeline";
  all.push_back({.what = "1 MiB filled and read; limit: warm memcpy of one core",
                 .bound = Bound::kAtLeast,
                 .unit = " GB/s",
                 .of = {"peers", std::move(ours)},
                 .value = at("/gb_per_s"),
                 .low = at("/window_messages_per_s/min", kMiB * 1e-9),
                 .high = at("/window_messages_per_s/max", kMiB * 1e-9),
                 .limit = at("/limit_gb_per_s"),
                 .limit_unit = " GB/s",
                 .limit_digits = 2});
  all.push_back(beside_iceoryx("1 MiB filled and read, times iceoryx", 1.0, filled));
}

void add_hive(std::vector<Target>& all) {
  for (const char* const by : {"futex", "eventfd"}) {
    all.push_back(round_trip(fmt::format("wake-up round trip, {}, over the raw one", by), 1.1,
                             {"wake", {{"size", 64}, {"by", by}, {"payload", "lane"}}}));
  }
  all.push_back({.what = "CPU of 50 idle agents and coordinator in 10 s",
                 .bound = Bound::kUnder,
                 .wanted = 10.0,
                 .unit = " ms",
                 .of = {"idle", {{"agents", 50}, {"mode", "adaptive"}}},
                 .value = at("/cpu_ms_per_10s"),
                 .limit = kNone});
  all.push_back(at_1000("1,000 agents: attach", Bound::kUnder, 2.0, " ms",
                        at("/attach_us/p50", 1e-3), at("/attach_us/p99", 1e-3)));
  all.push_back(at_1000("1,000 agents: segments of each, a pair of links", Bound::kUnder, 128.0,
                        " KiB", at("/resident_kib_per_agent")));
  // "As fast as to the first" has no number: this one is ours.
  all.push_back(at_1000("1,000 agents: round trip, last over first (1.1: ours)", Bound::kAtMost,
                        1.1, "", over(at("/last_rtt_ns"), at("/first_rtt_ns"))));
  all.push_back(at_1000("1,000 agents: round trip of parent and first child", Bound::kAtMost,
                        std::nullopt, " us", at("/first_rtt_ns", 1e-3)));
  const Value take = minus(at("/take_ns/p50"), at("/clock_ns/p50"));
  all.push_back({.what = "taking from 100,000",
                 .bound = Bound::kUnder,
                 .wanted = 1000.0,
                 .unit = " ns",
                 .digits = 0,
                 .of = deep(100'000),
                 .value = take,
                 .high = minus(at("/take_ns/p99"), at("/clock_ns/p50"))});
  // The logarithm of the one depth over that of the other.
  all.push_back({.what = "growth of that from 100 to 10,000, log n at worst",
                 .wanted = 2.0,
                 .of = deep(10'000),
                 .value = take,
                 .base = deep(100)});
  all.push_back({.what = "growth of that from 100 to 100,000, log n at worst",
                 .wanted = 2.5,
                 .of = deep(100'000),
                 .value = take,
                 .base = deep(100)});
}

// ---- Rows ---------------------------------------------------------------------------------------

bool matches(const Row& row, const Row& values) {
  return std::all_of(values.items().begin(), values.items().end(), [&](const auto& item) {
    return value_at(row, "/" + item.key()) == item.value();
  });
}

std::vector<Row> rows_of(const RowsByTest& rows, const Measurement& measurement) {
  std::vector<Row> found;
  const auto those = rows.find(measurement.test);
  if (those == rows.end()) return found;
  std::copy_if(those->second.begin(), those->second.end(), std::back_inserter(found),
               [&](const Row& row) { return matches(row, measurement.values); });
  return found;
}

// The rows that count, the lowest first: those with a figure, and only stable ones if there are
// any.
std::vector<Row> that_count(std::vector<Row> found, const Value& value) {
  std::erase_if(found, [&](const Row& row) { return !value(row); });
  const auto is_stable = [](const Row& row) { return row.value("stable", true); };
  const auto others = std::stable_partition(found.begin(), found.end(), is_stable);
  if (others != found.begin()) found.erase(others, found.end());
  std::sort(found.begin(), found.end(),
            [&](const Row& one, const Row& other) { return value(one) < value(other); });
  return found;
}

// The row in the middle; of two the higher or the lower one. REQUIRES: there are rows, the lowest
// first.
const Row& middle_of(const std::vector<Row>& rows, bool higher) {
  return rows[(rows.size() - (higher ? 0 : 1)) / 2];
}

// The figure, divided by that of the middle row of another measurement.
Value over_base(const RowsByTest& rows, const Target& target) {
  const auto bases = that_count(rows_of(rows, *target.base), target.value);
  if (bases.empty()) return kNone;
  // The less favourable base is the higher one if the ratio has to be high.
  const Row& base = middle_of(bases, target.bound == Bound::kAtLeast);
  if (*target.value(base) <= 0.0) return kNone;
  return [value = target.value, base](const Row& row) -> std::optional<double> {
    if (!limits_agree(kLimit(row).value_or(0.0), kLimit(base).value_or(0.0))) return std::nullopt;
    return *value(row) / *value(base);
  };
}

// Whether the target applies at the limit of the row.
bool is_asked(const Target& target, const Row& row) {
  return target.limit(row).value_or(0.0) <= target.where_limit;
}

std::string target_text(const Target& target) {
  if (!target.wanted) return "reported";
  const char* const bound = target.bound == Bound::kAtMost  ? "at most"
                            : target.bound == Bound::kUnder ? "under"
                                                            : "at least";
  return fmt::format("{} {:g}{}", bound, *target.wanted, target.unit);
}

bool is_reached(Bound bound, double value, double wanted) {
  if (bound == Bound::kAtLeast) return value >= wanted;
  return bound == Bound::kUnder ? value < wanted : value <= wanted;
}

std::string reached_text(const Target& target, const Row& row, double value) {
  if (!target.wanted) return "-";
  if (!is_asked(target, row))
    return fmt::format("not asked for here: limit over {:g}", target.where_limit);
  return is_reached(target.bound, value, *target.wanted) ? "yes" : "no";
}

Row row_of(const RowsByTest& rows, const Target& target) {
  const Value value = target.base ? over_base(rows, target) : target.value;
  const auto all = rows_of(rows, target.of);
  auto asked = all;
  std::erase_if(asked, [&](const Row& row) { return !is_asked(target, row); });
  auto found = that_count(std::move(asked), value);
  if (found.empty()) found = that_count(all, value);
  Row row{{"what", target.what}, {"target", target_text(target)}};
  if (found.empty()) {
    row["result"] = all.empty() ? "not measured" : "no figure";
    if (!all.empty()) row["reached"] = "not known: nothing at the same limit to compare with";
    return row;
  }
  const Row& middle = middle_of(found, target.bound != Bound::kAtLeast);
  const double result = *value(middle);
  const auto limit = target.limit(middle);
  row["result"] = fmt::format("{:.{}f}{}", result, target.digits, target.unit);
  if (limit)
    row["limit"] = fmt::format("{:.{}f}{}", *limit, target.limit_digits, target.limit_unit);
  double low = result;
  double high = result;
  for (const Row& each : found) {
    low = std::min({low, *value(each), target.low(each).value_or(low)});
    high = std::max({high, *value(each), target.high(each).value_or(high)});
  }
  if (low < high)
    row["spread"] = fmt::format("{:.{}f} to {:.{}f}", low, target.digits, high, target.digits);
  row["reached"] = reached_text(target, middle, result);
  // The fields that note_of() reads in a row that was not stable.
  for (const char* const key :
       {"stable", "attempts", "count", "limit_before_ns", "limit_after_ns"}) {
    if (middle.contains(key)) row[key] = middle.at(key);
  }
  return row;
}

}  // namespace

std::string targets_text(std::size_t machines) {
  std::string text =
      "What Beeline is to reach and what these rows say; spread: p50 to p99 of times, the slowest "
      "to the fastest window of streams, over all rows of a measurement";
  if (machines > 1) {
    text += fmt::format("; THESE ROWS ARE OF {} MACHINES OR BUILDS, mixed", machines);
  }
  return text;
}

std::vector<Column> target_columns() {
  return {{.title = "what", .value = "/what", .width = 53, .is_left = true},
          {"target", "/target", 22},
          {"result", "/result", 16},
          {"limit", "/limit", 11},
          {"spread", "/spread", 16},
          {"reached", "/reached", 8}};
}

std::vector<Row> target_rows(const RowsByTest& rows) {
  std::vector<Target> targets;
  add_messages(targets);
  add_hive(targets);
  std::vector<Row> all;
  for (const Target& target : targets) all.push_back(row_of(rows, target));
  return all;
}

std::vector<Row> better_rows(const RowsByTest& rows) {
  std::vector<Row> better;
  const auto peers = rows.find("peers");
  if (peers == rows.end()) return better;
  std::copy_if(peers->second.begin(), peers->second.end(), std::back_inserter(better),
               [](const Row& row) { return row.value("better", false); });
  return better;
}

std::string comparison_text(const RowsByTest& rows) {
  std::size_t moved = 0;
  std::size_t alone = 0;
  const auto peers = rows.find("peers");
  for (const Row& row : peers == rows.end() ? std::vector<Row>() : peers->second) {
    if (row.contains("ratio_to_beeline")) {
      moved += row.at("ratio_to_beeline").is_null() ? 1 : 0;
    } else if (!row.contains("skipped") && !row.contains("failed")) {
      ++alone;
    }
  }
  std::string text = better_rows(rows).empty() ? ": nobody" : "";
  if (moved > 0) text += fmt::format("; {} rows could not be compared: the limit moved", moved);
  if (alone > 0) text += fmt::format("; {} rows have none of Beeline beside them", alone);
  return text;
}

}  // namespace beeline::bench
