#include "src/os/socket_address.h"

#include <fcntl.h>

#include <cstring>
#include <utility>

#include "src/os/error.h"

namespace beeline::os {
namespace {

constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxNameBytes = 80;  // beside "/proc/self/fd/" and the longest number

static_assert(sizeof("/proc/self/fd/2147483647/") - 1 + kMaxNameBytes <= kMaxPathBytes);

}  // namespace

Result<SocketAddress> SocketAddress::of(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "socket path: must not be empty nor hold a zero byte");
  }
  SocketAddress result;
  std::string short_path = path;
  if (path.size() > kMaxPathBytes) {
    const auto slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (name.empty() || name.size() > kMaxNameBytes) {
      return fail(ErrorCode::kInvalid, "socket path '" + path +
                                           "': its last component must have 1 to " +
                                           std::to_string(kMaxNameBytes) + " bytes, has " +
                                           std::to_string(name.size()) + "; choose a shorter name");
    }
    const std::string directory = path.substr(0, slash + 1);
    result.directory_.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!result.directory_.valid()) return system_failure("open directory '" + directory + "'");
    short_path = "/proc/self/fd/" + std::to_string(result.directory_.get()) + "/" + name;
  }
  result.address_.sun_family = AF_UNIX;
  std::memcpy(result.address_.sun_path, short_path.c_str(), short_path.size() + 1);
  return result;
}

const sockaddr* SocketAddress::get() const noexcept {
  return reinterpret_cast<const sockaddr*>(&address_);
}

socklen_t SocketAddress::length() const noexcept { return sizeof address_; }

}  // namespace beeline::os
