#include "src/service/log.h"

#include <unistd.h>

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/uninterrupted.h"

namespace beeline::service {

void log_line(std::string_view level, std::string_view event, std::string_view text) {
  constexpr std::size_t kMostBytes = 2000;
  const std::int64_t now = os::realtime_ns();
  std::string quoted;
  for (const char letter : text.substr(0, kMostBytes)) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  const std::time_t seconds = now / 1'000'000'000;
  const std::string line =
      fmt::format("ts={:%Y-%m-%dT%H:%M:%S}.{:03}Z level={} pid={} event={} text=\"{}\"\n",
                  fmt::gmtime(seconds), now / 1'000'000 % 1000, level, ::getpid(), event, quoted);
  (void)os::uninterrupted([&] { return ::write(STDERR_FILENO, line.data(), line.size()); });
}

}  // namespace beeline::service
