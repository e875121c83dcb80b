#include "tests/support/watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace beeline::test {

Watchdog::Watchdog(std::chrono::seconds limit, std::function<void()> last_words)
    : last_words_(std::move(last_words)), thread_([this, limit] { run(limit); }) {}

Watchdog::~Watchdog() {
  over_.set_value();
  thread_.join();
}

void Watchdog::run(std::chrono::seconds limit) {
  if (over_.get_future().wait_for(limit) == std::future_status::ready) return;
  std::fprintf(stderr, "watchdog: the test hangs after %lld s\n",
               static_cast<long long>(limit.count()));
  if (last_words_) last_words_();
  std::fflush(nullptr);
  std::abort();
}

}  // namespace beeline::test
