#include "src/os/inheritance.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "src/os/fd.h"

namespace beeline::os {
namespace {

constexpr int kIoPriorityOfProcess = 1;  // IOPRIO_WHO_PROCESS, which no header of the C library has

void raise_soft_limits() noexcept {
  for (const auto which : {RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU, RLIMIT_NPROC}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == limit.rlim_max) continue;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(which, &limit);
  }
}

// The kernel cuts it to the CPUs that there are and that our cpuset allows.
void use_all_cpus() noexcept {
  std::array<unsigned char, 1024> all{};  // of 8,192 CPUs
  std::memset(all.data(), 0xff, all.size());
  (void)::syscall(SYS_sched_setaffinity, 0, all.size(), all.data());
}

void leave_oom_order() noexcept {
  const UniqueFd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd.valid() && ::write(fd.get(), "0", 1) != 1) return;  // it may not be lowered
}

}  // namespace

void give_up_inheritance() noexcept {
  const sched_param none{};
  if (::sched_getscheduler(0) != SCHED_OTHER) (void)::sched_setscheduler(0, SCHED_OTHER, &none);
  (void)::setpriority(PRIO_PROCESS, 0, 0);
  (void)::syscall(SYS_ioprio_set, kIoPriorityOfProcess, 0, 0);
  (void)::prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0);  // the default
  use_all_cpus();
  leave_oom_order();
  raise_soft_limits();
}

}  // namespace beeline::os
