#pragma once
// An agent in a thread of its own that only waits, takes messages, and does as they say.

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "tests/support/hive_test.h"

namespace beeline::test {

// The text of a message that asks it for an answer.
inline constexpr const char* kAnswer = "question";
inline constexpr const char* kReject = "letter";
inline constexpr const char* kEnd = "end";

class Sleeper {
 public:
  explicit Sleeper(const std::string& name) : agent_(*attach(name)), thread_([this] { run(); }) {}
  ~Sleeper() { thread_.join(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] Pid pid() const { return pid_; }
  // How often it has taken and finished a message. An answer from it comes after all earlier
  // messages, and the question, were counted.
  [[nodiscard]] std::uint32_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  // Fails if it was not rung: its own next look comes after 9 s at the earliest.
  void await(std::uint32_t count) const {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(took_.wait_for(lock, 6s, [&] { return taken_ >= count; }))
        << "the sleeper was not woken";
  }

 private:
  void run() {
    for (bool last = false; !last;) {
      auto message = agent_.receive({.timeout = kPatience});
      if (!message) return;
      last = message->text() == kEnd;
      if (message->text() == kAnswer) {
        count();
        EXPECT_TRUE(agent_.reply(*message, "answer"));
        message->done();
      } else if (message->text() == kReject) {
        message->reject();
        count();
      } else {
        message->done();
        count();
      }
    }
  }
  void count() {
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
    }
    took_.notify_one();
  }
  Agent agent_;
  Pid pid_ = agent_.pid();
  mutable std::mutex mutex_;  // taken_
  mutable std::condition_variable took_;
  std::uint32_t taken_ = 0;
  std::thread thread_;
};

}  // namespace beeline::test
