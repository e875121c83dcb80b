#include "bindings/python/core/wait.h"

#include <time.h>

namespace beeline::python {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// A signal waits for the end of a slice.
constexpr std::int64_t kSliceNs = 1'000'000;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

}  // namespace

Wait::Wait(Attachment& agent, std::int64_t timeout_ns) : agent_(agent) {
  const std::int64_t now = timeout_ns > 0 ? now_ns() : 0;
  end_ns_ = timeout_ns > BEELINE_FOREVER - now ? BEELINE_FOREVER : now + timeout_ns;
}

std::int64_t Wait::left() const {
  if (end_ns_ == BEELINE_FOREVER) return BEELINE_FOREVER;
  return end_ns_ == 0 ? 0 : std::max<std::int64_t>(0, end_ns_ - now_ns());
}

std::int64_t Wait::spin_ns() {
  const Patience patience = agent_.patience();
  if (patience.wait == BEELINE_WAIT_SPIN) return std::min(left(), kSliceNs);
  if (patience.wait == BEELINE_WAIT_SLEEP || has_spun_) return 0;
  has_spun_ = true;
  return std::min({left(), patience.spin_ns, kSliceNs});
}

bool Wait::check_signals() { return PyErr_CheckSignals() == 0 && agent_.enter(); }

bool Wait::poll(beeline_readiness& found) {
  // The first call makes the descriptor, and the poll arms it.
  (void)beeline_fd(agent_.handle());
  found.size = sizeof found;
  const beeline_code code = beeline_poll(agent_.handle(), &found);
  if (code != BEELINE_OK) raise(agent_.state(), code);
  return code == BEELINE_OK;
}

bool Wait::refuse_end() {
  raise_with(agent_.state(), BEELINE_CLOSED,
             "the hive went down, or this life of the agent has ended: nothing comes any more");
  return false;
}

}  // namespace beeline::python
