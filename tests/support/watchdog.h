#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace beeline::test {

// Ends the whole program when a test hangs, so that a hung test shows as one and leaves nothing.
class Watchdog {
 public:
  // `last_words` is called from the watchdog's thread before the program aborts.
  Watchdog(std::chrono::seconds limit, std::function<void()> last_words);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run(std::chrono::seconds limit);

  std::function<void()> last_words_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace beeline::test
