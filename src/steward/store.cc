#include "src/steward/store.h"

#include <sys/stat.h>

#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/steward/answer.h"
#include "src/steward/request.h"

namespace beeline::steward {

namespace {

constexpr int kVersion = 1;
constexpr int kTrimEvery = 64;

constexpr const char* kSchema = R"(
CREATE TABLE hive(instance TEXT NOT NULL);
CREATE TABLE children(
  id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, parent INTEGER NOT NULL, spec TEXT NOT NULL,
  file_spec TEXT NOT NULL, caller INTEGER NOT NULL, request TEXT NOT NULL,
  phase INTEGER NOT NULL, is_unwanted INTEGER NOT NULL, is_forgotten INTEGER NOT NULL,
  end_reason TEXT NOT NULL, os_pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,
  restarts INTEGER NOT NULL, attempts INTEGER NOT NULL, restarted_ns INTEGER NOT NULL,
  started_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, end TEXT NOT NULL);
CREATE TABLE answers(
  id INTEGER PRIMARY KEY, caller INTEGER NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL,
  UNIQUE(caller, request));
PRAGMA user_version = 1;
)";

void bind(sqlite3_stmt* statement, int at, std::int64_t value) {
  sqlite3_bind_int64(statement, at, value);
}

void bind(sqlite3_stmt* statement, int at, const std::string& text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

template <typename... Values>
void bind_all(sqlite3_stmt* statement, const Values&... values) {
  int at = 0;
  (bind(statement, ++at, values), ...);
}

std::string text_at(sqlite3_stmt* statement, int column) {
  const auto* const bytes = sqlite3_column_text(statement, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

template <typename Number>
void take(sqlite3_stmt* statement, int& column, Number& to) {
  to = static_cast<Number>(sqlite3_column_int64(statement, column++));
}

void take(sqlite3_stmt* statement, int& column, std::string& to) {
  to = text_at(statement, column++);
}

Result<Child> child_at(sqlite3_stmt* row) {
  Child child;
  std::string spec;
  std::string end;
  int column = 0;
  take(row, column, child.id);
  take(row, column, child.pid);
  take(row, column, child.parent);
  take(row, column, spec);
  take(row, column, child.file_spec);
  take(row, column, child.request.caller);
  take(row, column, child.request.word);
  take(row, column, child.phase);
  take(row, column, child.is_unwanted);
  take(row, column, child.is_forgotten);
  take(row, column, child.end_reason);
  take(row, column, child.os_pid);
  take(row, column, child.start_ticks);
  take(row, column, child.restarts);
  take(row, column, child.attempts);
  take(row, column, child.restarted_unix_ns);
  take(row, column, child.started_unix_ns);
  take(row, column, child.ended_unix_ns);
  take(row, column, end);
  auto options = parse_spawn(spec);
  if (!options) return tl::unexpected(std::move(options.error()));
  child.spec = std::move(*options);
  child.end = parse_exit(end);
  return child;
}

// The file is no database, or a broken one.
bool is_broken(int code) { return code == SQLITE_CORRUPT || code == SQLITE_NOTADB; }

}  // namespace

tl::unexpected<Error> Store::failed(const char* what) {
  const int code = sqlite3_extended_errcode(database_.get());
  return tl::unexpected(Error{
      is_broken(code & 0xff) ? ErrorCode::kBadSegment : ErrorCode::kSystem,
      sqlite3_system_errno(database_.get()),
      fmt::format("{} in {}: {} (SQLite {})", what, path_, sqlite3_errmsg(database_.get()), code)});
}

Result<void> Store::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failed("change the state");
}

Result<Store::Statement> Store::compile(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK) {
    return failed("read the tables");
  }
  return Statement(statement);
}

Result<void> Store::finish(sqlite3_stmt* statement, const char* what) {
  const int code = sqlite3_step(statement);
  Result<void> result;
  if (code != SQLITE_DONE && code != SQLITE_ROW) result = failed(what);
  sqlite3_reset(statement);
  return result;
}

Result<Store> Store::open(const std::string& path, std::string& remark) {
  auto store = open_once(path);
  if (store || store.error().code != ErrorCode::kBadSegment) return store;
  const std::string aside = path + ".broken";
  remark = fmt::format("{}; moved to {}", store.error().text, aside);
  if (std::rename(path.c_str(), aside.c_str()) != 0) return os::system_failure("move " + path);
  for (const char* const more : {"-wal", "-shm"}) std::remove((path + more).c_str());
  return open_once(path);
}

Result<Store> Store::open_once(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Store store(path, Database(raw));
  if (code != SQLITE_OK) return store.failed("open the state");
  ::chmod(path.c_str(), 0600);
  if (auto prepared = store.prepare(); !prepared) return tl::unexpected(prepared.error());
  return store;
}

Result<void> Store::prepare() {
  // The steward before this one may be about to end.
  sqlite3_busy_timeout(database_.get(), 2000);
  // No other process reads it, and SQLite needs no shared memory. Before the first look, which
  // would open that.
  if (auto done = run("PRAGMA locking_mode=EXCLUSIVE"); !done) return done;
  int version = 0;
  {
    auto read = compile("PRAGMA user_version");
    if (!read) return tl::unexpected(read.error());
    if (sqlite3_step(read->get()) != SQLITE_ROW) return failed("read the version");
    version = sqlite3_column_int(read->get(), 0);
  }
  if (version > kVersion) {
    return fail(ErrorCode::kWrongVersion,
                fmt::format("{} has version {}, this steward knows {}: use the Beeline that wrote "
                            "it, or move the file away; then the ends of children are lost",
                            path_, version, kVersion));
  }
  if (auto done = run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
                      "PRAGMA temp_store=MEMORY");
      !done) {
    return done;
  }
  if (version == 0) {
    if (auto made = run("BEGIN IMMEDIATE"); !made) return made;
    if (auto made = run(kSchema); !made) return made;
    if (auto made = run("COMMIT"); !made) return made;
  }
  const std::pair<Statement*, const char*> statements[] = {
      {&add_, "INSERT INTO children VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&save_,
       "UPDATE children SET pid=?,parent=?,spec=?,file_spec=?,caller=?,request=?,phase=?,"
       "is_unwanted=?,is_forgotten=?,end_reason=?,os_pid=?,start_ticks=?,restarts=?,attempts=?,"
       "restarted_ns=?,started_ns=?,ended_ns=?,end=? WHERE id=?"},
      {&remove_, "DELETE FROM children WHERE id=?"},
      {&find_answer_, "SELECT answer FROM answers WHERE caller=? AND request=?"},
      {&add_answer_, "INSERT OR REPLACE INTO answers VALUES(NULL,?,?,?)"},
      {&trim_answers_, "DELETE FROM answers WHERE id <= (SELECT max(id) FROM answers) - ?"},
  };
  for (const auto& [to, sql] : statements) {
    auto made = compile(sql);
    if (!made) return tl::unexpected(made.error());
    *to = std::move(*made);
  }
  return {};
}

std::string Store::hive_instance() {
  const auto read = compile("SELECT instance FROM hive");
  if (!read || sqlite3_step(read->get()) != SQLITE_ROW) return {};
  return text_at(read->get(), 0);
}

Result<void> Store::set_hive_instance(const std::string& instance) {
  if (auto begun = run("BEGIN IMMEDIATE; DELETE FROM hive; DELETE FROM answers"); !begun) {
    return begun;
  }
  auto write = compile("INSERT INTO hive VALUES(?)");
  if (!write) return tl::unexpected(write.error());
  bind_all(write->get(), instance);
  if (auto done = finish(write->get(), "note the hive"); !done) return done;
  return run("COMMIT");
}

Result<std::vector<Child>> Store::children() {
  auto read = compile("SELECT * FROM children ORDER BY id");
  if (!read) return tl::unexpected(read.error());
  std::vector<Child> children;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(read->get())) == SQLITE_ROW) {
    auto child = child_at(read->get());
    if (!child) return tl::unexpected(child.error());
    children.push_back(std::move(*child));
  }
  if (code != SQLITE_DONE) return failed("read the children");
  return children;
}

namespace {

void bind_child(sqlite3_stmt* statement, const Child& child, bool with_id) {
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  const std::string end = child.end ? exit_text(*child.end) : std::string();
  bind_all(statement, number(child.pid), number(child.parent), spawn_text(child.spec),
           child.file_spec, number(child.request.caller), child.request.word, number(child.phase),
           number(child.is_unwanted), number(child.is_forgotten), child.end_reason,
           number(child.os_pid), number(child.start_ticks), number(child.restarts),
           number(child.attempts), child.restarted_unix_ns, child.started_unix_ns,
           child.ended_unix_ns, end);
  constexpr int kId = 19;
  if (with_id) bind(statement, kId, child.id);
}

}  // namespace

Result<void> Store::add(Child& child) {
  bind_child(add_.get(), child, false);
  if (auto done = finish(add_.get(), "note a child"); !done) return done;
  child.id = sqlite3_last_insert_rowid(database_.get());
  return {};
}

Result<void> Store::save(const Child& child) {
  bind_child(save_.get(), child, true);
  return finish(save_.get(), "note the state of a child");
}

Result<void> Store::remove(const Child& child) {
  bind_all(remove_.get(), child.id);
  return finish(remove_.get(), "remove a child");
}

std::optional<std::string> Store::answer(const RequestTag& request) {
  bind_all(find_answer_.get(), static_cast<std::int64_t>(request.caller), request.word);
  std::optional<std::string> found;
  if (sqlite3_step(find_answer_.get()) == SQLITE_ROW) found = text_at(find_answer_.get(), 0);
  sqlite3_reset(find_answer_.get());
  return found;
}

Result<void> Store::save_answered(const Child* child, const RequestTag& request,
                                  const std::string& answer) {
  if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> done = child != nullptr ? save(*child) : Result<void>();
  if (done) {
    bind_all(add_answer_.get(), static_cast<std::int64_t>(request.caller), request.word, answer);
    done = finish(add_answer_.get(), "note an answer");
  }
  if (done && ++answers_since_trim_ >= kTrimEvery) {
    answers_since_trim_ = 0;
    bind_all(trim_answers_.get(), kMostAnswers);
    done = finish(trim_answers_.get(), "drop old answers");
  }
  if (done) return run("COMMIT");
  (void)run("ROLLBACK");
  return done;
}

}  // namespace beeline::steward
