#include "tools/beeline/guard_process.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

namespace beeline::cli {

void GuardProcess::tell(GuardOrder order) const noexcept {
  (void)::send(line_.get(), &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<GuardReport> GuardProcess::take_report() {
  GuardReport report;
  ssize_t count = 0;
  do {
    count = ::recv(line_.get(), &report, sizeof report, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof report)) return report;
  if (count >= 0 || errno != EAGAIN) is_closed_ = true;
  return std::nullopt;
}

bool GuardProcess::has_ended() const {
  if (!is_closed_) return false;
  // The guard holds its end of the line until it exits.
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace beeline::cli
