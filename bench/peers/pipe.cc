// Pipes, one for each direction. Several senders share one, because a write of up to PIPE_BUF bytes
// is never mixed with another. The reader takes all that is there and cuts it into messages.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"
#include "src/os/fd.h"

namespace beeline::bench::peers {
namespace {

// The most that an unprivileged user may ask for.
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kReadBytes = 64 << 10;

class Pipes {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Pipes> create(const PeerCase& what) {
    Pipes pipes;
    for (std::size_t i = 0; i < 2; ++i) {
      int ends[2] = {-1, -1};
      if (::pipe2(ends, what.sleeps() ? 0 : O_NONBLOCK) != 0) return os::system_failure("pipe2");
      pipes.read_[i].reset(ends[0]);
      pipes.write_[i].reset(ends[1]);
      // If the system refuses it, the pipe keeps its 64 KiB.
      (void)::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
    }
    return pipes;
  }

 private:
  std::array<os::UniqueFd, 2> read_;
  std::array<os::UniqueFd, 2> write_;
};

class Pipes::Port : public PortBase {
 public:
  Port(const Pipes& pipes, const PeerCase& what, const Place& place)
      : PortBase(what, place),
        out_(pipes.write_[place.out()].get()),
        in_(pipes.read_[place.in()].get()),
        own_(what.size),
        buffer_(std::max(what.size, kReadBytes / what.size * what.size)) {}

  bool send(std::uint64_t number, bool) {
    write_payload(own_.data(), number);
    for (std::size_t done = 0; done < size();) {
      const ssize_t length = ::write(out_, own_.data() + done, size() - done);
      if (length >= 0) {
        done += static_cast<std::size_t>(length);
      } else if (errno != EAGAIN && errno != EINTR) {
        return fail_by_errno("write to a pipe");
      }
    }
    return true;
  }

  bool receive(std::uint64_t& number) {
    if (begin_ == end_) begin_ = end_ = 0;
    while (end_ - begin_ < size()) {
      const ssize_t length = ::read(in_, buffer_.data() + end_, buffer_.size() - end_);
      if (length > 0) {
        end_ += static_cast<std::size_t>(length);
      } else if (length == 0) {
        return fail("the other end of a pipe was closed");
      } else if (errno != EAGAIN && errno != EINTR) {
        return fail_by_errno("read from a pipe");
      }
    }
    begin_ += size();
    return read_payload(buffer_.data() + begin_ - size(), size(), number);
  }

 private:
  int out_;
  int in_;
  std::vector<std::byte> own_;
  std::vector<std::byte> buffer_;  // holds whole messages
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

PeerEntry pipe_entry() {
  return {"pipe", "", true, true, measure_peer<Pipes>, kernel_version, nullptr};
}

}  // namespace beeline::bench::peers
