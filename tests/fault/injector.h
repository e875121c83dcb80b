#pragma once
// Makes one chosen system call fail. A thread, and every process that it starts, runs under a
// seccomp filter. The filter asks this process about each call that can fail (errno_table.h). The
// call then goes on to the kernel, or returns an error without having happened.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <linux/seccomp.h>

#include "src/os/fd.h"

namespace beeline::test {

class Injector {
 public:
  // The aim, and the outcome.
  struct Shot {
    std::uint32_t calls = 0;  // calls in the table since aim()
    int call = -1;            // the number of the call that failed; -1: the n-th was not reached
    int error = 0;
    bool last_error = false;  // the last of the errors that the table has for this call

    [[nodiscard]] bool hit() const { return call >= 0; }
    [[nodiscard]] std::string describe() const;  // for example "memfd_create: EMFILE"
  };

  Injector();
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // Runs `body` in a thread of its own under the filter, to its end. Returns the reason if that is
  // not possible here. Processes that it has started must end before the injector does.
  [[nodiscard]] std::optional<std::string> run(const std::function<void()>& body);

  // From here on the n-th call (from 1; 0: none) fails with the e-th of its errors (from 0, modulo
  // their number). It counts the calls of the thread that aims, or of everything else under the
  // filter.
  enum class Whose : std::uint8_t { kOwn, kOthers };
  void aim(std::uint32_t call, std::uint32_t error, Whose whose);
  // Counts only from the first call of this number on, for a program that is just being started.
  void aim_from(int first_call, std::uint32_t call, std::uint32_t error);
  // Every call succeeds again.
  Shot stop();
  // Numbers of calls that were made under the filter and that errno_table.h does not know.
  [[nodiscard]] std::vector<std::size_t> unknown();
  // The outcome so far.
  [[nodiscard]] Shot look();

 private:
  void serve();
  void answer();
  [[nodiscard]] int decide(const seccomp_notif& request);

  struct Aim {
    bool on = false;
    std::uint32_t call = 0;
    std::uint32_t error = 0;
    Whose whose = Whose::kOwn;
    std::uint32_t thread = 0;
    int first_call = -1;
  };
  std::mutex mutex_;  // aim_, shot_, unknown_
  Aim aim_;
  Shot shot_;
  // SUBTLE: this allocates no memory, because a caller that waits for our answer may hold the lock
  // of the allocator.
  static constexpr std::size_t kNumbers = 1024;
  std::bitset<kNumbers> unknown_;
  os::UniqueFd listener_;
  os::UniqueFd over_;  // eventfd
  std::thread server_;
};

}  // namespace beeline::test
