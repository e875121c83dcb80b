#pragma once

// The database of a buffer: one process keeps it.

#include <memory>
#include <string>

#include <beeline/result.h>

#include "src/buffer/config.h"
#include "src/buffer/ledger.h"
#include "src/buffer/service/view.h"
#include "src/os/fd.h"

namespace beeline::buffer {

struct Store {
  // The lock. SUBTLE: it is closed last, because SQLite's own locks of a file end with any close of
  // that file in the process.
  os::UniqueFd file{};
  std::unique_ptr<Ledger> ledger{};
  std::unique_ptr<View> view{};
  std::string path{};

  // Errors: kAlreadyRunning (another buffer keeps it), those of Ledger::open().
  [[nodiscard]] static Result<Store> open(const std::string& path, Config config);
};

}  // namespace beeline::buffer
