#pragma once

// The socket between steward and keeper. The keeper holds a descriptor of each child and is the
// parent of those that outlive their steward, so that no end is lost.

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include <beeline/result.h>

#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::steward {

class KeeperLine {
 public:
  // $BEELINE_KEEPER_FD names the socket. Errors: kInvalid (it names none).
  [[nodiscard]] static Result<KeeperLine> from_environment();
  explicit KeeperLine(os::PacketSocket socket) : socket_(std::move(socket)) {}

  // The keeper holds this child from now on. Errors: those of PacketSocket::send().
  [[nodiscard]] Result<void> hold(pid_t os_pid, int pidfd);
  // The end of this child is on record: the keeper forgets it.
  void forget(pid_t os_pid);

  // The steward works: the keeper need not wait before it starts the next one.
  void say_ready();

  // The keeper says this.
  struct Word {
    enum class Kind : std::uint8_t {
      kChild,   // it holds this child, which runs
      kExited,  // this child has ended with `status`
      kKnown,   // it has told everything that it held at the start
    };
    Kind kind = Kind::kKnown;
    pid_t os_pid = 0;
    int status = 0;  // as waitpid() gives it
    os::UniqueFd pidfd{};
  };
  // The next word, if there is one. Errors: kClosed (the keeper has ended), kProtocol.
  [[nodiscard]] Result<std::optional<Word>> next();
  [[nodiscard]] int fd() const { return socket_.fd(); }

 private:
  os::PacketSocket socket_;
};

}  // namespace beeline::steward
