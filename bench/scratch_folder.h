#pragma once

#include <string>

#include <beeline/result.h>

namespace beeline::bench {

// A folder for the files of one run. It goes with this object, and all that lies in it.
class ScratchFolder {
 public:
  // Makes it below the directory `place`; its name has the purpose. Errors: kSystem.
  [[nodiscard]] static Result<ScratchFolder> create(const std::string& place,
                                                    const std::string& purpose);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty after a move
};

}  // namespace beeline::bench
