#pragma once
// The place of a hive that does not exist yet.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "src/control/client.h"
#include "src/os/process.h"
#include "tests/support/hive_test.h"
#include "tests/support/program.h"

namespace beeline::test {

class Nest {
 public:
  Nest() : path_((std::filesystem::temp_directory_path() / "beeline-nest-XXXXXX").string()) {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    ::setenv("BEELINE_DIR", path_.c_str(), 1);
    ::setenv("BEELINE_HIVE", "nest", 1);
    ::setenv("BEELINE_BIN", (os::executable_directory() + "/..").c_str(), 0);
  }
  ~Nest() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Nest(const Nest&) = delete;
  Nest& operator=(const Nest&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  // Ends the hive if there is one; then nothing of it may be left.
  void clear() const {
    control::ClientOptions options;
    options.start = false;
    if (auto client = control::Client::connect(options)) {
      const auto down = client->down();
      EXPECT_TRUE(down) << down.error().text;
    }
    const Deadline deadline = patience();
    while (!processes_with("BEELINE_DIR", path_).empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "processes are left";
    }
    std::filesystem::remove(path_ + "/beelined.last.log");  // the only file that stays
    EXPECT_TRUE(!std::filesystem::exists(path_) || std::filesystem::is_empty(path_))
        << "files are left in " << path_;
  }

 private:
  std::string path_;
};

}  // namespace beeline::test
