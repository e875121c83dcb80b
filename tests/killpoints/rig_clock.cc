#include "tests/killpoints/rig_clock.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace beeline::killpoints {
namespace {

constexpr std::int64_t kStartNs = 1'000'000'000'000;
std::int64_t g_now_ns = kStartNs;

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void reset_clock() { g_now_ns = kStartNs; }
void advance_clock(std::int64_t ns) { g_now_ns += ns; }

double wall_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double cpu_seconds() {
  rusage own{};
  rusage children{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &children);
  return seconds_of(own) + seconds_of(children);
}

}  // namespace beeline::killpoints

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock != CLOCK_MONOTONIC_COARSE && clock != CLOCK_REALTIME) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  }
  now->tv_sec = beeline::killpoints::g_now_ns / 1'000'000'000;
  now->tv_nsec = beeline::killpoints::g_now_ns % 1'000'000'000;
  return 0;
}
