#include "bench/buffer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/buffer_store.h"
#include "bench/histogram.h"
#include "bench/log_store.h"
#include "bench/machine.h"
#include "bench/peers/stores.h"
#include "bench/scratch_folder.h"
#include "bench/sqlite_store.h"
#include "bench/store_crew.h"
#include "bench/take.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/process.h"

namespace beeline::bench {
namespace {

// A figure of times that come as nanoseconds.
double in_us(std::uint64_t nanoseconds) { return rounded(static_cast<double>(nanoseconds) / 1e3); }

// Starts a store in a new folder. Nothing: it is not here, and the table says so.
Result<std::unique_ptr<Store>> start_in(const ScratchFolder& folder, const std::string& name,
                                        const StartStore& start) {
  const std::string path = folder.path() + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0) return os::system_failure("mkdir " + path);
  return start(path);
}

bool is_missing(const Error& error) { return error.code == ErrorCode::kInvalid; }

// A store whose puts are timed one by one.
struct TimedStore {
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreSender> sender;
  std::uint64_t bytes = 0;  // that a put writes to a log
  Histogram times{};

  Result<void> put(std::uint64_t number) {
    const std::string payload = store_payload(number);
    const std::int64_t begin = os::monotonic_ns();
    auto done = sender->put(payload);
    times.record(os::monotonic_ns() - begin);
    return done;
  }
};

Result<std::unique_ptr<TimedStore>> connect_timed(std::unique_ptr<Store> store) {
  auto sender = store->connect(0);
  if (!sender) return tl::unexpected(sender.error());
  const auto bytes = wal_bytes(*store, **sender);
  if (!bytes) return tl::unexpected(bytes.error());
  auto timed = std::make_unique<TimedStore>();
  timed->store = std::move(store);
  timed->sender = std::move(*sender);
  timed->bytes = *bytes;
  return timed;
}

// Puts to all of them in turn. Each time another one is the first.
Result<void> put_in_turn(const std::vector<std::unique_ptr<TimedStore>>& stores, double seconds) {
  constexpr std::uint64_t kFewest = 20;
  const std::int64_t end = os::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (std::uint64_t round = 0; round < kFewest || os::monotonic_ns() < end; ++round) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      if (auto done = stores[(round + i) % stores.size()]->put(round); !done) return done;
    }
  }
  return {};
}

Row commit_row(const TimedStore& timed, const TimedStore& raw) {
  const auto p50 = [](const TimedStore& one) { return one.times.percentile(50.0); };
  const StoreWords& words = timed.store->words();
  Row row{{"what", "commit"}, {"store", words.name}, {"promise", words.promise}};
  row["senders"] = 1;
  row["bytes"] = timed.bytes;
  row["us"] = {{"p50", in_us(p50(timed))}, {"p99", in_us(timed.times.percentile(99.0))}};
  row["raw_us"] = {{"p50", in_us(p50(raw))}};
  row["ratio"] = rounded(static_cast<double>(p50(timed)) / static_cast<double>(p50(raw)));
  row["count"] = timed.times.count();
  if (!words.version.empty()) row["version"] = words.version;
  return row;
}

// A store with many senders, and its rates in the rounds.
struct RatedStore {
  const char* name;
  StartStore start;
  std::size_t senders;
  StoreWords words{};
  std::vector<SenderRates> rounds{};
  std::string skipped{};  // the reason

  // The middle round.
  [[nodiscard]] const SenderRates& middle() const { return rounds[rounds.size() / 2]; }
};

Result<void> rate_once(SharedBoard& board, const ScratchFolder& folder, RatedStore& rated,
                       double seconds) {
  auto store = start_in(
      folder, fmt::format("{}-{}-{}", rated.name, rated.senders, rated.rounds.size()), rated.start);
  if (!store && is_missing(store.error())) {
    rated.skipped = store.error().text;
    return {};
  }
  if (!store) return tl::unexpected(store.error());
  rated.words = (*store)->words();
  const auto rates = measure_senders(board, **store, rated.senders, seconds);
  if (!rates) return tl::unexpected(rates.error());
  rated.rounds.push_back(*rates);
  return {};
}

Row rate_row(const RatedStore& rated, double sqlite_per_s) {
  Row row{{"what", "rate"}, {"store", rated.name}};
  row["senders"] = rated.senders;
  if (!rated.skipped.empty()) {
    row["skipped"] = rated.skipped;
    return row;
  }
  row["promise"] = rated.words.promise;
  // A sender that others kept from its turn has no answer.
  if (rated.middle().p50_ns > 0) {
    row["us"] = {{"p50", in_us(rated.middle().p50_ns)}, {"p99", in_us(rated.middle().p99_ns)}};
  }
  row["per_s"] = rounded(rated.middle().per_s);
  row["round_per_s"] = {{"min", rounded(rated.rounds.front().per_s)},
                        {"max", rounded(rated.rounds.back().per_s)}};
  row["sqlite_per_s"] = rounded(sqlite_per_s);
  row["ratio"] = rounded(rated.middle().per_s / sqlite_per_s);
  row["version"] = rated.words.version;
  return row;
}

class DurableBuffer final : public Benchmark {
 public:
  DurableBuffer()
      : Benchmark(
            {.name = "buffer",
             .help = "The durable buffer, next to the bare disk, SQLite, Redis and NATS",
             .about = "messages of 200 bytes of JSON. commit: an answer to a lone sender, us, in "
                      "turn with the bare write and fdatasync of as many bytes as SQLite writes "
                      "to its log for a message (bytes); ratio: over the bare one. rate: answers a "
                      "second to senders of which each waits for its answer, the middle round; "
                      "p50, p99: an answer to one of them; ratio: times SQLite with one "
                      "transaction a message, by one process or by all, whichever is faster. take: "
                      "a batch "
                      "of 100 messages is routed, handed out and acknowledged while so many rows "
                      "wait, us without the commit; ratio: over the first row",
             .columns = {{"what", "/what", 6, 1.0, 0, false, true},
                         {"store", "/store", 19, 1.0, 0, false, true},
                         {"promise", "/promise", 24, 1.0, 0, false, true},
                         {"senders", "/senders", 7},
                         {"rows", "/rows", 8},
                         {"bytes", "/bytes", 7},
                         {"p50", "/us/p50", 9, 1.0, 0},
                         {"p99", "/us/p99", 9, 1.0, 0},
                         {"per s", "/per_s", 9, 1.0, 0},
                         {"ratio", "/ratio", 6, 1.0, 2}}}) {}

  void add_flags(CLI::App& command) override {
    constexpr std::size_t kMostRuns = 10'000;
    flags_.add_seconds(command, 1.0).add_json(command);
    command
        .add_option("--dir", dir_,
                    "A directory of the disk to measure; otherwise that of this program")
        ->check(CLI::ExistingDirectory);
    command.add_option("--senders", senders_, "Processes that put messages at the same time")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kMostMembers));
    command.add_option("--rounds", rounds_, "How often each store is measured, in turn")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000}));
    command.add_option("--rows", rows_, "Messages that wait for their route; several with commas")
        ->default_str("1000,1000000")
        ->delimiter(',')
        ->check(CLI::Range(kTakenMessages, std::size_t{100'000'000}));
    command.add_option("--runs", runs_, "How many batches are taken out of so many")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, kMostRuns));
  }

  Result<void> run(Sink& out) override {
    const std::string place = dir_.empty() ? os::executable_directory() : dir_;
    auto folder = ScratchFolder::create(place, "buffer");
    if (!folder) return tl::unexpected(folder.error());
    out.open(fmt::format("files in {} ({}); no process is pinned", place, file_system_of(place)));
    if (auto done = add_commits(out, *folder); !done) return done;
    if (auto done = add_rates(out, *folder); !done) return done;
    return add_takes(out, *folder);
  }

 private:
  Result<void> add_commits(const Sink& out, const ScratchFolder& folder) const {
    std::vector<std::unique_ptr<TimedStore>> stores;
    const auto add = [&](const char* name, const StartStore& start) -> Result<void> {
      auto store = start_in(folder, fmt::format("commit-{}", name), start);
      if (!store) return tl::unexpected(store.error());
      auto timed = connect_timed(std::move(*store));
      if (!timed) return tl::unexpected(timed.error());
      stores.push_back(std::move(*timed));
      return {};
    };
    if (auto added = add("sqlite", start_sqlite_store); !added) return added;
    const std::uint64_t bytes = stores.front()->bytes;
    const StartStore start_log = [bytes](const std::string& in) {
      return start_log_store(in, bytes);
    };
    if (auto added = add("log", start_log); !added) return added;
    std::swap(stores[0], stores[1]);
    stores[0]->bytes = bytes;
    std::string skipped;
    if (auto added = add("beeline", start_buffer_store); !added) {
      if (!is_missing(added.error())) return added;
      skipped = added.error().text;
    }
    const double seconds = flags_.seconds() * static_cast<double>(rounds_);
    if (auto done = put_in_turn(stores, seconds); !done) return done;
    for (const auto& timed : stores) out.add(commit_row(*timed, *stores.front()));
    if (!skipped.empty()) {
      out.add({{"what", "commit"}, {"store", "beeline"}, {"skipped", skipped}});
    }
    return {};
  }

  Result<void> add_rates(const Sink& out, const ScratchFolder& folder) const {
    auto board = SharedBoard::create();
    if (!board) return tl::unexpected(board.error());
    std::vector<RatedStore> stores;
    stores.push_back({"sqlite", start_sqlite_store, 1});
    if (senders_ > 1) stores.push_back({"sqlite", start_sqlite_store, senders_});
    const std::size_t ways_of_sqlite = stores.size();
    stores.push_back({"beeline", start_buffer_store, senders_});
    stores.push_back({"redis streams", peers::start_redis_store, senders_});
    stores.push_back({"nats jetstream", peers::start_nats_store, senders_});
    for (std::size_t round = 0; round < rounds_; ++round) {
      for (RatedStore& rated : stores) {
        if (!rated.skipped.empty()) continue;
        if (auto done = rate_once(*board, folder, rated, flags_.seconds()); !done) return done;
      }
    }
    double sqlite_per_s = 0.0;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      std::sort(stores[i].rounds.begin(), stores[i].rounds.end(),
                [](const auto& one, const auto& other) { return one.per_s < other.per_s; });
      if (i < ways_of_sqlite) sqlite_per_s = std::max(sqlite_per_s, stores[i].middle().per_s);
    }
    for (const RatedStore& rated : stores) out.add(rate_row(rated, sqlite_per_s));
    return {};
  }

  Result<void> add_takes(const Sink& out, const ScratchFolder& folder) const {
    const auto all = measure_takes(folder.path(), rows_, runs_);
    if (!all) return tl::unexpected(all.error());
    const std::uint64_t first = all->front().p50_ns;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const TakeTimes& times = (*all)[i];
      Row row{{"what", "take"}, {"store", "beeline"}, {"rows", rows_[i]}};
      row["us"] = {{"p50", in_us(times.p50_ns)}, {"p99", in_us(times.p99_ns)}};
      row["commit_us"] = {{"p50", in_us(times.commit_p50_ns)}};
      row["first_us"] = {{"p50", in_us(first)}};
      row["ratio"] = rounded(static_cast<double>(times.p50_ns) / static_cast<double>(first));
      row["count"] = runs_;
      out.add(std::move(row));
    }
    return {};
  }

  std::string dir_;
  std::size_t senders_ = 16;
  std::size_t rounds_ = 3;
  std::vector<std::size_t> rows_{1'000, 1'000'000};
  std::size_t runs_ = 200;
};

}  // namespace

std::unique_ptr<Benchmark> make_buffer() { return std::make_unique<DurableBuffer>(); }

}  // namespace beeline::bench
