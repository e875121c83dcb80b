#include "tests/fault/injector.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <future>
#include <span>
#include <vector>

#include "tests/fault/errno_table.h"

namespace beeline::test {

namespace {

sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}

sock_filter jump_if_equal(unsigned value, std::size_t yes, std::size_t no = 0) {
  return {BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no),
          value};
}

// Lets calls through that do not fail, also futex as the C library's locks use it, and asks the
// listener about every other call.
std::vector<sock_filter> make_filter() {
  const std::span<const int> calls = calls_that_do_not_fail();
  const std::size_t count = calls.size();
  std::vector<sock_filter> filter;
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  filter.push_back(jump_if_equal(SYS_futex, count + 2));
  for (std::size_t i = 0; i < count; ++i) {
    filter.push_back(jump_if_equal(static_cast<unsigned>(calls[i]), count - i));
  }
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])));
  filter.push_back(jump_if_equal(FUTEX_WAIT, 0, 1));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

// Puts the calling thread under the filter. Returns the listener's descriptor, or -1 with errno.
int install(std::vector<sock_filter>& filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

}  // namespace

std::string Injector::Shot::describe() const {
  if (!hit()) return "nothing";
  return std::string(name_of_call(call)) + ": " + ::strerrorname_np(error);
}

Injector::Injector() : over_(::eventfd(0, EFD_CLOEXEC)) {}

Injector::~Injector() {
  const std::uint64_t one = 1;
  if (::write(over_.get(), &one, sizeof one) != sizeof one) std::terminate();
  if (server_.joinable()) server_.join();
}

std::optional<std::string> Injector::run(const std::function<void()>& body) {
  std::promise<int> ready;
  std::thread runner([&] {
    std::vector<sock_filter> filter = make_filter();
    const int listener = install(filter);
    ready.set_value(listener >= 0 ? listener : -errno);
    if (listener >= 0) body();
  });
  // Started by this thread, so that its own calls are not under the filter.
  const int listener = ready.get_future().get();
  if (listener >= 0) {
    listener_.reset(listener);
    server_ = std::thread([this] { serve(); });
  }
  runner.join();
  if (listener >= 0) return std::nullopt;
  return std::string("a seccomp filter that asks is refused: ") + ::strerrordesc_np(-listener);
}

void Injector::aim(std::uint32_t call, std::uint32_t error, Whose whose) {
  const std::lock_guard lock(mutex_);
  shot_ = {};
  aim_ = {true, call, error, whose, static_cast<std::uint32_t>(::gettid()), -1};
}

void Injector::aim_from(int first_call, std::uint32_t call, std::uint32_t error) {
  const std::lock_guard lock(mutex_);
  shot_ = {};
  aim_ = {true, call, error, Whose::kOthers, static_cast<std::uint32_t>(::gettid()), first_call};
}

Injector::Shot Injector::stop() {
  const std::lock_guard lock(mutex_);
  aim_.on = false;
  return shot_;
}

Injector::Shot Injector::look() {
  const std::lock_guard lock(mutex_);
  return shot_;
}

std::vector<std::size_t> Injector::unknown() {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (unknown_.test(i)) numbers.push_back(i);
  }
  return numbers;
}

void Injector::serve() {
  std::array<pollfd, 2> entries{pollfd{listener_.get(), POLLIN, 0}, pollfd{over_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) std::terminate();
    if ((entries[0].revents & POLLIN) != 0) {
      answer();
    } else if ((entries[0].revents & POLLHUP) != 0 || entries[1].revents != 0) {
      return;  // nobody is left under the filter, or nobody should be
    }
  }
}

void Injector::answer() {
  seccomp_notif request{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;  // it was killed
  seccomp_notif_resp response{};
  response.id = request.id;
  response.error = -decide(request);
  if (response.error == 0) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  // Fails if the caller was killed meanwhile.
  (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
}

// The error that this call is to return, 0 if it goes on to the kernel.
int Injector::decide(const seccomp_notif& request) {
  const std::lock_guard lock(mutex_);
  if (!is_failing_call(request.data.nr))
    unknown_.set(static_cast<std::size_t>(request.data.nr) % kNumbers);
  const bool own = request.pid == aim_.thread;
  if (!aim_.on || own != (aim_.whose == Whose::kOwn)) return 0;
  if (aim_.first_call >= 0) {
    if (request.data.nr != aim_.first_call) return 0;
    aim_.first_call = -1;
  }
  const std::span<const int> errors = plausible_errors(request);
  if (errors.empty() || ++shot_.calls != aim_.call) return 0;
  const std::size_t which = aim_.error % errors.size();
  shot_.call = request.data.nr;
  shot_.error = errors[which];
  shot_.last_error = which + 1 == errors.size();
  return shot_.error;
}

}  // namespace beeline::test
