#include "src/agent/fork_guard.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "src/agent/core.h"
#include "src/agent/fd_limit.h"

namespace beeline {

namespace {

struct Cores {
  std::mutex mutex;
  std::vector<AgentCore*> all;
};

// Never destroyed: a fork may come while the process ends.
Cores& cores() {
  static Cores* cores = new Cores();
  return *cores;
}

void before_fork() { cores().mutex.lock(); }

void after_fork() { cores().mutex.unlock(); }

void in_child() {
  restore_fd_limit_in_child();
  for (AgentCore* core : cores().all) core->become_a_copy();
  cores().mutex.unlock();
}

}  // namespace

ForkGuard::ForkGuard(AgentCore& core) : core_(&core) {
  static const int kRegistered = ::pthread_atfork(before_fork, after_fork, in_child);
  (void)kRegistered;
  const std::lock_guard lock(cores().mutex);
  cores().all.push_back(core_);
}

ForkGuard::~ForkGuard() {
  const std::lock_guard lock(cores().mutex);
  std::erase(cores().all, core_);
}

}  // namespace beeline
