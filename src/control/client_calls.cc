// The calls of a client that wait for their answers, one for each request.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/control/client.h"
#include "src/control/names.h"
#include "src/control/typed_answer.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"

namespace beeline::control {

Result<Attached> Client::attach(AttachRequest wanted) {
  if (auto good = check_utf8("name", wanted.name); !good) return tl::unexpected(good.error());
  if (auto good = check_utf8("parent", wanted.parent); !good) return tl::unexpected(good.error());
  // The coordinator uses it only where the kernel cannot name the process of a socket.
  const auto self = os::open_pidfd(::getpid());
  wanted.pidfd = self.has_value();
  const std::array<int, 1> fds{self ? self->get() : -1};
  auto raw = request(std::move(wanted), std::span(fds).first(self ? 1 : 0));
  if (!raw) return tl::unexpected(std::move(raw.error()));
  auto answer = typed<AttachedAnswer>(*raw);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  const std::size_t expected = answer->predecessor != shm::kNoIncarnation ? 2 : 1;
  if (raw->fds.size() != expected) return missing_fds(expected, raw->fds.size());
  Attached attached;
  static_cast<AttachedAnswer&>(attached) = std::move(*answer);
  takes_over_ = attached.predecessor != shm::kNoIncarnation;
  attached.directory = std::move(raw->fds[0]);
  if (expected == 2) attached.home = std::move(raw->fds[1]);
  return attached;
}

Result<void> Client::provide(int home, int status, int event, bool ready) {
  const std::array<int, 3> fds{home, status, event};
  return expect_ok(ProvideRequest{ready}, fds);
}

Result<void> Client::ready() {
  takes_over_ = false;
  return expect_ok(ReadyRequest{});
}

Result<Opened> Client::open(const OpenRequest& wanted, int link) {
  const std::array<int, 1> fds{link};
  return opened_of(request(wanted, fds));
}

Result<Opened> Client::opened_of(Result<RawAnswer> raw) {
  if (!raw) return tl::unexpected(std::move(raw.error()));
  auto answer = typed<OpenedAnswer>(*raw);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  const std::size_t expected = (answer->process ? 2U : 0U) + (answer->foreign ? 1U : 0U);
  if (raw->fds.size() != expected) return missing_fds(expected, raw->fds.size());
  Opened opened;
  static_cast<OpenedAnswer&>(opened) = *answer;
  if (answer->process) {
    opened.status = std::move(raw->fds[0]);
    opened.event = std::move(raw->fds[1]);
  }
  if (answer->foreign) opened.bell = std::move(raw->fds.back());
  return opened;
}

Result<void> Client::detach(std::vector<std::uint32_t> empty) {
  return expect_ok(DetachRequest{std::move(empty)});
}

Result<Resumed> Client::resume(ResumeRequest wanted, int home, int status, int event) {
  const auto self = os::open_pidfd(::getpid());
  wanted.as.pidfd = self.has_value();
  std::vector<int> fds;
  if (self) fds.push_back(self->get());
  if (home >= 0) fds.insert(fds.end(), {home, status, event});
  auto raw = request(std::move(wanted), fds);
  if (!raw) return tl::unexpected(std::move(raw.error()));
  auto answer = typed<ResumedAnswer>(*raw);
  if (!answer) return tl::unexpected(std::move(answer.error()));
  if (raw->fds.size() != 1) return missing_fds(1, raw->fds.size());
  Resumed resumed;
  static_cast<ResumedAnswer&>(resumed) = *answer;
  resumed.directory = std::move(raw->fds[0]);
  return resumed;
}

Result<void> Client::escalate(std::string text) {
  return expect_ok(EscalateRequest{std::move(text)});
}

Result<ListAnswer> Client::list(std::uint32_t from) {
  return typed<ListAnswer>(request(ListRequest{from}));
}

Result<std::vector<ListedAgent>> Client::list_all() {
  std::vector<ListedAgent> all;
  for (std::int64_t from = 0; from >= 0;) {
    auto page = list(static_cast<std::uint32_t>(from));
    if (!page) return tl::unexpected(std::move(page.error()));
    std::move(page->agents.begin(), page->agents.end(), std::back_inserter(all));
    from = page->next > from ? page->next : -1;
  }
  return all;
}

Result<std::vector<shm::LinkKey>> Client::links_to(Pid reader, bool also_released) {
  std::vector<shm::LinkKey> all;
  for (std::int64_t from = 0; from >= 0;) {
    const auto page = typed<LinksAnswer>(request(
        LinksRequest{reader, shm::Incarnation(static_cast<std::uint64_t>(from)), also_released}));
    if (!page) return tl::unexpected(page.error());
    all.insert(all.end(), page->links.begin(), page->links.end());
    from = page->next > from ? page->next : -1;
  }
  return all;
}

Result<StatusAnswer> Client::status() { return typed<StatusAnswer>(request(StatusRequest{})); }

Result<RouteAnswer> Client::route(const std::string& from, const std::string& to) {
  if (auto good = check_utf8("sender", from); !good) return tl::unexpected(good.error());
  if (auto good = check_utf8("receiver", to); !good) return tl::unexpected(good.error());
  return typed<RouteAnswer>(request(RouteRequest{from, to}));
}

Result<std::uint64_t> Client::forget(const std::string& name, bool purge) {
  auto answer = typed<LettersAnswer>(request(ForgetRequest{name, purge}));
  if (!answer) return tl::unexpected(std::move(answer.error()));
  return answer->count;
}

// For a connected socket the peer is the process that called listen().
pid_t Client::keeper_pid() const {
  return socket_.peer_identity().map([](const auto& keeper) { return keeper.pid; }).value_or(0);
}

Result<void> Client::down() {
  const std::int64_t end_ns = os::monotonic_ns() + options_.deadline.count();
  // The peer of a connected socket called listen(): it is the keeper, which ends last.
  auto keeper = socket_.peer_identity();
  if (keeper && !keeper->pidfd.valid()) {
    if (auto pidfd = os::open_pidfd(keeper->pid)) keeper->pidfd = std::move(*pidfd);
  }
  if (auto ok = expect_ok(DownRequest{}); !ok) return ok;
  while (keeper && keeper->pidfd.valid() && !os::has_exited(keeper->pidfd.get())) {
    const std::chrono::nanoseconds left(end_ns - os::monotonic_ns());
    if (left.count() <= 0) {
      return broken(Error{ErrorCode::kTimeout, 0,
                          fmt::format("the hive at {} did not end in time: its keeper, process {}, "
                                      "may be stopped or busy",
                                      socket_path_, keeper->pid)});
    }
    (void)os::wait_readable(keeper->pidfd.get(), left);
  }
  socket_.close();
  return {};
}

}  // namespace beeline::control
