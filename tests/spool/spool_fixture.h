#pragma once
// A task folder for each test, and processes that work in it.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <beeline/spool.h>

namespace beeline::spool::test {

namespace fs = std::filesystem;

using Names = std::set<std::string>;

// A child that does `work` and ends. The destructor kills it if it runs.
class Child {
 public:
  template <typename Work>
  explicit Child(const Work& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    (void)wait();
  }
  // Its wait status; -1 if it was waited for before.
  int wait() {
    int status = -1;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Wakes another process.
class Bell {
 public:
  Bell() { EXPECT_EQ(::pipe(ends_), 0); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void ring() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void wait() {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = (fs::temp_directory_path() / "spool-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    options_.dir = root_ + "/box";
    options_.worker = "w";
  }
  ~SpoolTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  [[nodiscard]] Spool open() { return open(options_); }
  [[nodiscard]] static Spool open(const Options& options) {
    auto spool = Spool::open(options);
    if (!spool) {
      ADD_FAILURE() << spool.error().text;
      ::abort();
    }
    return std::move(*spool);
  }
  [[nodiscard]] static Task task(const std::string& id, std::int64_t priority = 1) {
    Task made;
    made.id = id;
    made.title = "T " + id;
    made.priority = priority;
    return made;
  }
  static void put(Spool& spool, const Task& task) {
    const auto put = spool.put(task);
    EXPECT_TRUE(put) << put.error().text;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return options_.dir + "/" + name;
  }
  [[nodiscard]] Names names(const std::string& folder) const {
    Names found;
    for (const auto& entry : fs::directory_iterator(path(folder))) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  // "inbox/a.json" for each file, all folders.
  [[nodiscard]] Names all_files() const {
    Names found;
    for (const auto* folder : {"inbox", "processing", "outbox", "failed", ".tmp"}) {
      for (const auto& name : names(folder)) found.insert(std::string(folder) + "/" + name);
    }
    return found;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  // Sets the time of a file so long ago.
  void age(const std::string& name, std::chrono::seconds by) const {
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - by);
  }
  [[nodiscard]] static std::string claimed_id(Spool& spool) {
    auto claim = spool.try_claim();
    if (!claim) return std::string(name_of(claim.error().code));
    const std::string id = claim->task().id;
    claim->keep();
    return id;
  }
  static void expect_code(const Failure& failure, Code code) {
    EXPECT_EQ(failure.code, code) << failure.text;
    EXPECT_TRUE(failure.text.starts_with(text_of(code))) << failure.text;
  }
  // A task that a process claimed which was killed then.
  void leave_claim(const std::string& id) {
    Child(([&] {
      Spool spool = open();
      put(spool, task(id));
      EXPECT_EQ(claimed_id(spool), id);
    })).wait();
  }

  std::string root_;
  Options options_;
};

}  // namespace beeline::spool::test
