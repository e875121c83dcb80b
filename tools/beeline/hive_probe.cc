#include "tools/beeline/hive_probe.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"
#include "src/os/socket_address.h"

namespace beeline::cli {
namespace {

using Clock = std::chrono::steady_clock;

// No descriptor can be polled for a free place in a listener's queue.
constexpr std::chrono::nanoseconds kLookAgain = std::chrono::milliseconds(10);

// The question to one coordinator.
class Probe {
 public:
  explicit Probe(const std::string& path) : path_(path) {}

  // Goes as far as it can without a wait; false once the probe is over.
  bool step() {
    if (!is_over_ && !socket_.valid()) connect();
    if (!is_over_ && socket_.valid()) take_answer();
    return !is_over_;
  }

  // -1: the probe waits for a place in the queue of the listener.
  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] std::optional<control::StatusAnswer> take() { return std::move(answer_); }

 private:
  void connect() {
    is_over_ = true;
    const auto address = os::SocketAddress::of(path_);
    os::UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!address || !fd.valid()) return;
    if (::connect(fd.get(), address->get(), address->length()) != 0) {
      is_over_ = errno != EAGAIN && errno != EINTR;
      return;
    }
    auto socket = os::PacketSocket::from_fd(std::move(fd));
    if (!socket) return;
    const auto sent = socket->try_send(control::build(control::StatusRequest{}, 1));
    // A coordinator that refuses us closes at once; a full queue counts as no answer.
    if (!sent || !*sent) return;
    socket_ = std::move(*socket);
    is_over_ = false;
  }

  void take_answer() {
    auto packet = socket_.try_receive(control::kMaxPacketBytes, os::LostFds::kTell);
    if (packet && !*packet) return;
    is_over_ = true;
    if (!packet) return;
    auto parsed = control::parse_from_coordinator((*packet)->text);
    auto* answer = parsed ? std::get_if<control::IncomingAnswer>(&*parsed) : nullptr;
    if (answer == nullptr) return;
    if (auto* status = std::get_if<control::StatusAnswer>(&answer->answer)) {
      answer_ = std::move(*status);
    }
  }

  std::string path_;
  os::PacketSocket socket_;
  std::optional<control::StatusAnswer> answer_;
  bool is_over_ = false;
};

}  // namespace

std::vector<std::optional<control::StatusAnswer>> ask_hives(const std::vector<std::string>& sockets,
                                                            std::chrono::nanoseconds patience) {
  std::vector<Probe> probes(sockets.begin(), sockets.end());
  const auto end = Clock::now() + patience;
  for (;;) {
    std::vector<int> waiting;
    for (Probe& probe : probes) {
      if (probe.step()) waiting.push_back(probe.fd());
    }
    std::chrono::nanoseconds left = end - Clock::now();
    if (waiting.empty() || left.count() <= 0) break;
    const bool is_queued = std::find(waiting.begin(), waiting.end(), -1) != waiting.end();
    if (is_queued) left = std::min(left, kLookAgain);
    (void)os::poll_readable(waiting, left);
  }
  std::vector<std::optional<control::StatusAnswer>> answers;
  for (Probe& probe : probes) answers.push_back(probe.take());
  return answers;
}

}  // namespace beeline::cli
