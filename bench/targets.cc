#include "bench/targets.h"

#include <algorithm>
#include <functional>
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
Value less(Value one, Value other) {
  return combined(std::move(one), std::move(other), std::minus<>());
}

const Value kNone = [](const Row&) { return std::optional<double>(); };
const Value kLimit = at("/limit_rtt_ns/p50");

/// How many times a neighbour's figure ours is; nothing where the machine changed between them.
const Value kTimes = over([](const Row&) { return std::optional(1.0); }, at("/ratio_to_beeline"));

// ---- Targets ------------------------------------------------------------------------------------

/// Rows of a test that have these values; null: that have none there.
struct Pick {
  std::string test;
  Row values;
};

enum class Bound { kAtMost, kUnder, kAtLeast, kReported };

struct Target {
  std::string what{};
  Bound bound = Bound::kAtMost;
  double wanted = 0.0;
  std::string unit{};
  int digits = 2;
  Pick pick{};
  Value value = kNone;
  Value low = kNone;  // the spread; without: `value`
  Value high = kNone;
  Value limit = kLimit;
  std::string limit_unit = " ns";
  int limit_digits = 0;
  /// The target holds where the limit is this or less; 0: everywhere.
  double where_limit = 0.0;
  /// Another row, over whose figure this one's is taken, where their limits agree.
  std::optional<Pick> base = std::nullopt;
};

Target round_trip(const std::string& what, double wanted, Pick pick) {
  return {.what = what,
          .wanted = wanted,
          .pick = std::move(pick),
          .value = over(at("/rtt_ns/p50"), kLimit),
          .high = over(at("/rtt_ns/p99"), kLimit)};
}

Target streamed(const std::string& what, double wanted, double where_limit, Pick pick) {
  return {.what = what,
          .bound = Bound::kAtLeast,
          .wanted = wanted,
          .unit = " million/s",
          .pick = std::move(pick),
          .value = at("/messages_per_s", 1e-6),
          .low = at("/window_messages_per_s/min", 1e-6),
          .high = at("/window_messages_per_s/max", 1e-6),
          .where_limit = where_limit};
}

Target beside_iceoryx(const std::string& what, double wanted, Row values) {
  values["peer"] = "iceoryx";
  values["mode"] = "spin";
  return {.what = what,
          .bound = Bound::kAtLeast,
          .wanted = wanted,
          .pick = {"peers", std::move(values)},
          .value = kTimes};
}

Target at_1000(const std::string& what, Bound bound, double wanted, const std::string& unit,
               Value value, Value high = kNone) {
  return {.what = what,
          .bound = bound,
          .wanted = wanted,
          .unit = unit,
          .pick = {"scale", {{"agents", 1000}}},
          .value = std::move(value),
          .high = std::move(high),
          .limit = kNone};
}

Pick awake(std::size_t size, const char* payload) {
  return {"latency", {{"size", size}, {"mode", "spin"}, {"payload", payload}, {"rate", nullptr}}};
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
  all.push_back(streamed("one way, 64 B (40 next, 60 the aim)", 25.0, 120.0,
                         {"throughput", {{"size", 64}, {"mode", "spin"}, {"payload", "lane"}}}));
  all.push_back(
      beside_iceoryx("one way, 64 B, times iceoryx", 10.0, {{"kind", "throughput"}, {"size", 64}}));
  all.push_back(streamed("three senders to one, 64 B", 20.0, 0.0,
                         {"fanin", {{"size", 64}, {"mode", "spin"}, {"senders", 3}}}));
  all.push_back(beside_iceoryx("three senders to one, 64 B, times iceoryx", 8.0,
                               {{"kind", "fanin"}, {"size", 64}}));
  const Row filled{{"kind", "fill"}, {"size", kMiB}};
  Row ours = filled;
  ours["peer"] = "beeline";
  all.push_back({.what = "1 MiB filled and read; limit: memcpy",
                 .bound = Bound::kReported,
                 .unit = " GB/s",
                 .pick = {"peers", std::move(ours)},
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
                             {"wake", {{"size", 64}, {"by", by}}}));
  }
  all.push_back({.what = "CPU of 50 idle agents and coordinator in 10 s",
                 .bound = Bound::kUnder,
                 .wanted = 10.0,
                 .unit = " ms",
                 .pick = {"idle", {{"agents", 50}}},
                 .value = at("/cpu_ms_per_10s"),
                 .limit = kNone});
  all.push_back(at_1000("1,000 agents: attach", Bound::kUnder, 2.0, " ms",
                        at("/attach_us/p50", 1e-3), at("/attach_us/p99", 1e-3)));
  all.push_back(at_1000("1,000 agents: segments of each, a pair of links", Bound::kUnder, 128.0,
                        " KiB", at("/resident_kib_per_agent")));
  all.push_back(at_1000("1,000 agents: round trip, the last over the first", Bound::kAtMost, 1.1,
                        "", over(at("/last_rtt_ns"), at("/first_rtt_ns"))));
  all.push_back(at_1000("1,000 agents: round trip of their parent", Bound::kReported, 0.0, " us",
                        at("/first_rtt_ns", 1e-3)));
  const Value take = less(at("/take_ns/p50"), at("/clock_ns/p50"));
  const Target deep{.what = "taking from 100,000",
                    .bound = Bound::kUnder,
                    .wanted = 1000.0,
                    .unit = " ns",
                    .digits = 0,
                    .pick = {"inbox", {{"depth", 100'000}, {"size", 64}}},
                    .value = take,
                    .high = less(at("/take_ns/p99"), at("/clock_ns/p50"))};
  all.push_back(deep);
  // log 100,000 over log 100.
  all.push_back({.what = "growth of that from 100 to 100,000, log n at worst",
                 .wanted = 2.5,
                 .pick = deep.pick,
                 .value = take,
                 .base = Pick{"inbox", {{"depth", 100}, {"size", 64}}}});
}

// ---- Rows ---------------------------------------------------------------------------------------

bool matches(const Row& row, const Row& values) {
  return std::all_of(values.items().begin(), values.items().end(), [&](const auto& item) {
    return value_at(row, "/" + item.key()) == item.value();
  });
}

std::vector<Row> picked(const RowsByTest& rows, const Pick& pick) {
  std::vector<Row> found;
  const auto those = rows.find(pick.test);
  if (those == rows.end()) return found;
  std::copy_if(those->second.begin(), those->second.end(), std::back_inserter(found),
               [&](const Row& row) { return matches(row, pick.values); });
  return found;
}

/// Those with a figure, the lowest first; stable ones alone if there are any.
std::vector<Row> chosen(std::vector<Row> found, const Value& value) {
  std::erase_if(found, [&](const Row& row) { return !value(row); });
  const auto is_stable = [](const Row& row) { return row.value("stable", true); };
  const auto others = std::stable_partition(found.begin(), found.end(), is_stable);
  if (others != found.begin()) found.erase(others, found.end());
  std::sort(found.begin(), found.end(),
            [&](const Row& one, const Row& other) { return value(one) < value(other); });
  return found;
}

/// The figure over that of the row in the middle of another measurement.
Value over_base(const RowsByTest& rows, const Target& target) {
  const auto bases = chosen(picked(rows, *target.base), target.value);
  if (bases.empty()) return kNone;
  const Row& base = bases[bases.size() / 2];
  return [value = target.value, base](const Row& row) -> std::optional<double> {
    if (!limits_agree(kLimit(row).value_or(0.0), kLimit(base).value_or(0.0))) return std::nullopt;
    return *value(row) / *value(base);
  };
}

std::string target_text(const Target& target) {
  switch (target.bound) {
    case Bound::kAtMost:
      return fmt::format("at most {:g}{}", target.wanted, target.unit);
    case Bound::kUnder:
      return fmt::format("under {:g}{}", target.wanted, target.unit);
    case Bound::kAtLeast:
      return fmt::format("at least {:g}{}", target.wanted, target.unit);
    case Bound::kReported:
      break;
  }
  return "reported";
}

std::string reached_text(const Target& target, double value, std::optional<double> limit) {
  if (target.bound == Bound::kReported) return "-";
  if (target.bound == Bound::kAtMost && value <= target.wanted) return "yes";
  if (target.bound == Bound::kUnder && value < target.wanted) return "yes";
  if (target.bound == Bound::kAtLeast && value >= target.wanted) return "yes";
  const bool holds = target.where_limit <= 0.0 || limit.value_or(0.0) <= target.where_limit;
  return holds ? "no" : fmt::format("no (asked for a limit up to {:g})", target.where_limit);
}

Row row_of(const RowsByTest& rows, const Target& target) {
  const Value value = target.base ? over_base(rows, target) : target.value;
  const auto all = picked(rows, target.pick);
  const auto found = chosen(all, value);
  Row row{{"what", target.what}, {"target", target_text(target)}};
  if (found.empty()) {
    row["result"] = all.empty() ? "not measured" : "no figure";
    return row;
  }
  const Row& middle = found[found.size() / 2];
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
  row["reached"] = reached_text(target, result, limit);
  // What note_of() tells of a row that was not stable.
  for (const char* const key :
       {"stable", "attempts", "count", "limit_before_ns", "limit_after_ns"}) {
    if (middle.contains(key)) row[key] = middle.at(key);
  }
  return row;
}

}  // namespace

std::vector<Column> target_columns() {
  return {{.title = "what", .value = "/what", .width = 50, .is_left = true},
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

}  // namespace beeline::bench
