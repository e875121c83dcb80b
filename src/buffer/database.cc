#include "src/buffer/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/limits.h"
#include "src/os/fd.h"

namespace beeline::buffer {
namespace {

// A file at the limit of its process (ulimit -f) is as good as a full disk.
bool is_disk_full(int code, int sys_errno) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  return (code & 0xff) == SQLITE_IOERR &&
         (sys_errno == ENOSPC || sys_errno == EDQUOT || sys_errno == EFBIG);
}

// Messages are private, so a new file is its owner's. The mode of an older one stays. A failure is
// left to SQLite, which meets it again. The name of the file is on the disk before its first row.
void create_file(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const os::UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) ::fsync(directory.get());
}

}  // namespace

Error Database::failed(std::string_view event) const {
  const int code = sqlite3_extended_errcode(handle_.get());
  const int sys_errno = sqlite3_system_errno(handle_.get());
  const char* const words = sqlite3_errmsg(handle_.get());
  const auto error = [&](ErrorCode kind, std::string next_step) {
    return Error{kind, sys_errno,
                 fmt::format("{}: {}: {} (SQLite {}{}){}", path_, event, words, code,
                             sys_errno == 0 ? "" : fmt::format(", {}", std::strerror(sys_errno)),
                             next_step)};
  };
  if (is_disk_full(code, sys_errno)) {
    return error(ErrorCode::kFull,
                 "; the disk is full: nothing was changed; free some space and "
                 "send it again");
  }
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(ErrorCode::kBadSegment,
                   "; the file is damaged: stop the buffer, keep the file, and restore a copy, or "
                   "rescue its rows with `sqlite3 FILE .recover`");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error(ErrorCode::kTimeout,
                   fmt::format("; another program holds the file for longer than {} ms; end it",
                               patience_.count()));
    case SQLITE_READONLY:
      return error(ErrorCode::kSystem, "; the file or its disk can only be read; make it writable");
    case SQLITE_CANTOPEN:
      return error(ErrorCode::kSystem, "; make its folder, and let the buffer write there");
    default:
      return error(ErrorCode::kSystem, "");
  }
}

Result<Database> Database::open_as(const std::string& path, int flags,
                                   std::chrono::milliseconds patience, const std::string& vfs) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX,
                                   vfs.empty() ? nullptr : vfs.c_str());
  Database database(path, patience, handle);
  if (handle == nullptr) return fail(ErrorCode::kNoMemory, path + ": no memory to open it");
  if (code != SQLITE_OK) return tl::unexpected(database.failed("open"));
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  return database;
}

Result<Database> Database::open(const std::string& path, std::chrono::milliseconds patience,
                                const std::string& vfs) {
  if (vfs.empty()) create_file(path);
  auto database = open_as(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, patience, vfs);
  if (!database) return database;
  // SQLite opens a file that it may not write as one to read, without an error.
  if (sqlite3_db_readonly(database->handle_.get(), "main") == 1) {
    return tl::unexpected(
        Error{ErrorCode::kSystem, EROFS,
              fmt::format("{}: open: the file or its disk can only be read; make it writable, or "
                          "take another file",
                          path)});
  }
  return database;
}

Result<Database> Database::open_to_read(const std::string& path) {
  return open_as(path, SQLITE_OPEN_READONLY, kLockPatience, "");
}

Result<void> Database::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return tl::unexpected(failed("run"));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return tl::unexpected(failed("read the tables"));
  }
  return Statement(statement);
}

Result<void> Database::prepare_all(std::initializer_list<Wanted> wanted) {
  for (const auto& [to, sql] : wanted) {
    auto statement = prepare(sql);
    if (!statement) return tl::unexpected(std::move(statement.error()));
    *to = std::move(*statement);
  }
  return {};
}

bool Cursor::next() {
  if (is_done_) return false;  // another step would run it again
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  is_done_ = true;
  has_failed_ = code != SQLITE_DONE;
  return false;
}

Result<void> Cursor::finish(std::string_view event) {
  while (next()) {
  }
  if (has_failed_) return tl::unexpected(database_.failed(event));
  return {};
}

std::string Cursor::text(int column) const {
  const auto* const bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace beeline::buffer
