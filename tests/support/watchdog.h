#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace beeline::test {

// Ends the whole program if a test hangs, so that a hung test shows as one and leaves nothing.
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
  std::promise<void> over_;
  std::thread thread_;
};

}  // namespace beeline::test
