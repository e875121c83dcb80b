#include "bench/sqlite_store.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/database.h"
#include "src/buffer/limits.h"
#include "src/buffer/schema.h"
#include "src/buffer/times.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

constexpr const char* kInsert =
    "INSERT INTO buffer (channel, sender, conversation, payload, received_at, priority) "
    "VALUES ('bench', ?, ?, ?, ?, ?)";

class SqliteSender final : public StoreSender {
 public:
  SqliteSender(buffer::Database database, std::size_t number)
      : database_(std::move(database)),
        name_(fmt::format("sender-{}", number)),
        conversation_(fmt::format("conversation-{}", number)) {}

  Result<void> prepare() {
    if (auto made = buffer::prepare_schema(database_); !made) return made;
    return database_.prepare_all({{&insert_, kInsert}});
  }

  Result<void> put(const std::string& payload) override {
    const std::string now = buffer::format_time(os::realtime_ns() / 1'000'000);
    for (;;) {
      auto done = buffer::Cursor(database_, insert_, name_, conversation_, payload, now,
                                 std::int64_t{buffer::kDefaultPriority})
                      .finish("write a message");
      // Another sender may have got the lock again and again for that long.
      if (done || done.error().code != ErrorCode::kTimeout) return done;
    }
  }

 private:
  buffer::Database database_;
  buffer::Statement insert_{};  // ends before the database
  std::string name_;
  std::string conversation_;
};

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::string path)
      : Store({"sqlite", kSyncedBefore, fmt::format("SQLite {}", sqlite3_libversion()), path}),
        path_(std::move(path)) {}

  Result<std::unique_ptr<StoreSender>> connect(std::size_t number) const override {
    auto database = buffer::Database::open(path_);
    if (!database) return tl::unexpected(database.error());
    auto sender = std::make_unique<SqliteSender>(std::move(*database), number);
    if (auto ready = sender->prepare(); !ready) return tl::unexpected(ready.error());
    return sender;
  }

 private:
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Store>> start_sqlite_store(const std::string& folder) {
  const std::string path = folder + "/messages.db";
  if (auto made = make_seasoned_database(path); !made) return tl::unexpected(made.error());
  return std::make_unique<SqliteStore>(path);
}

Result<void> make_seasoned_database(const std::string& path) {
  {
    auto database = buffer::Database::open(path);
    if (!database) return tl::unexpected(database.error());
    if (auto made = buffer::prepare_schema(*database); !made) return made;
  }
  sqlite3* handle = nullptr;
  int code = ::sqlite3_open(path.c_str(), &handle);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(handle, ::sqlite3_close);
  // The last one that closes the database leaves the log there.
  int keeps_log = 1;
  if (code == SQLITE_OK) {
    code = ::sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps_log);
  }
  const auto run = [&](const char* sql) {
    if (code == SQLITE_OK) code = ::sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
  };
  run("PRAGMA synchronous=OFF");
  for (std::uint64_t frame = 0; frame <= kWalFrames; ++frame) {
    run("INSERT INTO buffer (channel, sender, conversation, payload) VALUES ('a', 'b', 'c', 'd')");
  }
  run("DELETE FROM buffer");
  if (code == SQLITE_OK) return {};
  return fail(ErrorCode::kSystem, fmt::format("{}: {}", path, ::sqlite3_errmsg(handle)));
}

}  // namespace beeline::bench
