#pragma once

// One connection to the SQLite file, its prepared statements, and their errors. One thread uses a
// connection.

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/buffer/limits.h"

namespace beeline::buffer {

class Database;

// A prepared statement. Cursors run it.
class Statement {
 public:
  Statement() = default;
  [[nodiscard]] sqlite3_stmt* get() const noexcept { return handle_.get(); }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3_stmt, Finalize> handle_{};
};

class Database {
 public:
  // Makes the file if there is none. A longer wait than `patience` for another program that holds
  // it is an error. `vfs` is for tests; empty: the system.
  // Errors: as of failed().
  [[nodiscard]] static Result<Database> open(const std::string& path,
                                             std::chrono::milliseconds patience = kLockPatience,
                                             const std::string& vfs = "");
  // For queries beside a buffer that runs.
  [[nodiscard]] static Result<Database> open_to_read(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Runs statements that return nothing.
  [[nodiscard]] Result<void> run(const char* sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  struct Wanted {
    Statement* to = nullptr;
    std::string_view sql{};
  };
  [[nodiscard]] Result<void> prepare_all(std::initializer_list<Wanted> wanted);
  // For the tests, which count the steps of a query.
  [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }
  [[nodiscard]] std::int64_t last_row_id() const {
    return sqlite3_last_insert_rowid(handle_.get());
  }
  [[nodiscard]] std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  // SQLite ends some transactions by itself when the disk is full.
  [[nodiscard]] bool is_in_transaction() const {
    return sqlite3_get_autocommit(handle_.get()) == 0;
  }

  // The error of the call that has just failed. kFull: the disk; kBadSegment: the file is damaged
  // or no database; kTimeout: another program holds it; kSystem: all else, with the errno.
  [[nodiscard]] Error failed(std::string_view event) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  Database(std::string path, std::chrono::milliseconds patience, sqlite3* handle)
      : path_(std::move(path)), patience_(patience), handle_(handle) {}
  [[nodiscard]] static Result<Database> open_as(const std::string& path, int flags,
                                                std::chrono::milliseconds patience,
                                                const std::string& vfs);

  std::string path_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// One run of a prepared statement; it resets the statement at its end.
class Cursor {
 public:
  template <typename... Values>
  Cursor(const Database& database, const Statement& statement, const Values&... values)
      : database_(database), statement_(statement.get()) {
    int at = 0;
    (bind(++at, values), ...);
  }
  ~Cursor() { sqlite3_reset(statement_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Goes to the next row; false at the end and after a failure.
  [[nodiscard]] bool next();
  // Runs it to its end. `event` names the call for people. Errors: as of Database::failed().
  [[nodiscard]] Result<void> finish(std::string_view event);
  // A failure of next().
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }

 private:
  void bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  void bind(int at, std::nullptr_t /*null*/) { sqlite3_bind_null(statement_, at); }
  void bind(int at, std::string_view text) {
    sqlite3_bind_text64(statement_, at, text.data() == nullptr ? "" : text.data(), text.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);
  }

  const Database& database_;
  sqlite3_stmt* statement_;
  bool is_done_ = false;
  bool has_failed_ = false;
};

}  // namespace beeline::buffer
