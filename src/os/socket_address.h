#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::os {

// A path as an address of a local socket. The kernel takes 107 bytes. A longer path becomes
// /proc/self/fd/N/name; N is its directory, which this object holds open.
class SocketAddress {
 public:
  // Errors: kInvalid (empty, holds a zero byte, or a last component over 80 bytes in a path over
  // 107); kSystem with errno if the directory of a long path cannot be opened.
  [[nodiscard]] static Result<SocketAddress> of(const std::string& path);

  // Valid as long as this object lives and is not moved.
  [[nodiscard]] const sockaddr* get() const noexcept;
  [[nodiscard]] socklen_t length() const noexcept;

 private:
  SocketAddress() noexcept = default;

  sockaddr_un address_{};
  UniqueFd directory_;
};

}  // namespace beeline::os
