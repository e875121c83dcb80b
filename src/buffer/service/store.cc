#include "src/buffer/service/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace beeline::buffer {
namespace {

// SQLite uses locks of another kind. A file that cannot be opened is left to SQLite, which says
// why.
Result<os::UniqueFd> lock_database(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    return file;
  }
  return fail(
      ErrorCode::kAlreadyRunning,
      fmt::format("{}: another buffer keeps this database; end it, or take another file", path));
}

}  // namespace

Result<Store> Store::open(const std::string& path, Config config) {
  Store store;
  store.path = path;
  // A look at a file that is there, before anything in it changes. A new one is made by SQLite.
  auto file = lock_database(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  auto ledger = Ledger::open({.path = path, .config = std::move(config)});
  if (!ledger) return tl::unexpected(std::move(ledger.error()));
  store.ledger = std::move(*ledger);
  if (!file->valid()) {
    file = lock_database(path);
    if (!file) return tl::unexpected(std::move(file.error()));
  }
  store.file = std::move(*file);
  auto view = View::open(path);
  if (!view) return tl::unexpected(std::move(view.error()));
  store.view = std::move(*view);
  return store;
}

}  // namespace beeline::buffer
