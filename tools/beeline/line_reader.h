#pragma once

#include <optional>
#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::cli {

// The lines of a body, each as soon as it has been read.
class LineReader {
 public:
  // The body that an argument names, as read_body() takes it. Errors: kSystem.
  [[nodiscard]] static Result<LineReader> open(const std::string& argument);

  // The next line without its end; nothing after the last. Errors: kSystem.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  os::UniqueFd file_;
  int fd_ = -1;  // none when all has been read, or the argument is the text
  std::string what_;
  std::string rest_;
};

}  // namespace beeline::cli
