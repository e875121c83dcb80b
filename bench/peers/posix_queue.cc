// POSIX message queues, one for each direction, with the ten places that a system allows by
// default. All messages have one priority.

#include <fcntl.h>
#include <mqueue.h>

#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"
#include "src/os/fd.h"

namespace beeline::bench::peers {
namespace {

constexpr long kQueuePlaces = 10;

// The meaning of a failed mq_open(): sizes that a system refuses are beyond a peer's control,
// anything else is a failure.
ErrorCode code_of_open(int error) {
  switch (error) {
    case EINVAL:  // fs.mqueue.msgsize_max, fs.mqueue.msg_max
    case EMFILE:  // the bytes that ulimit -q allows (or no descriptor is left, with the same error)
    case EOVERFLOW:  // more than can be counted
      return ErrorCode::kTooBig;
    case ENOMEM:
      return ErrorCode::kNoMemory;
    default:
      return ErrorCode::kSystem;
  }
}

class PosixQueues {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<PosixQueues> create(const PeerCase& what) {
    PosixQueues queues;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string name = fmt::format("/{}-{}", what.scope, i);
      mq_attr limits{};
      limits.mq_maxmsg = kQueuePlaces;
      limits.mq_msgsize = static_cast<long>(what.size);
      const int flags = O_RDWR | O_CREAT | O_EXCL | (what.sleeps() ? 0 : O_NONBLOCK);
      const int fd = ::mq_open(name.c_str(), flags, 0600, &limits);
      if (fd < 0) {
        const ErrorCode code = code_of_open(errno);
        return os::system_failure(
            code, errno,
            fmt::format("open a queue of {} messages of {} bytes{}", kQueuePlaces, what.size,
                        code == ErrorCode::kTooBig ? " (fs.mqueue.msgsize_max, ulimit -q)" : ""));
      }
      ::mq_unlink(name.c_str());  // the descriptors are enough
      queues.fds_[i].reset(fd);
    }
    return queues;
  }

 private:
  std::array<os::UniqueFd, 2> fds_;
};

class PosixQueues::Port : public PortBase {
 public:
  Port(const PosixQueues& queues, const PeerCase& what, const Place& place)
      : PortBase(what, place),
        out_(queues.fds_[place.out()].get()),
        in_(queues.fds_[place.in()].get()),
        own_(what.size),
        buffer_(what.size) {}

  bool send(std::uint64_t number, bool) {
    write_payload(own_.data(), number);
    while (::mq_send(out_, own_.data(), size(), 0) < 0) {
      if (errno != EAGAIN && errno != EINTR) return fail_by_errno("mq_send");
    }
    return true;
  }

  bool receive(std::uint64_t& number) {
    ssize_t length = 0;
    while ((length = ::mq_receive(in_, buffer_.data(), size(), nullptr)) < 0) {
      if (errno != EAGAIN && errno != EINTR) return fail_by_errno("mq_receive");
    }
    return read_payload(buffer_.data(), static_cast<std::size_t>(length), number);
  }

 private:
  int out_;
  int in_;
  std::vector<char> own_;
  std::vector<char> buffer_;
};

}  // namespace

PeerEntry posix_queue_entry() {
  return {"posix-queue", "", true, true, measure_peer<PosixQueues>, kernel_version, nullptr};
}

}  // namespace beeline::bench::peers
