#include "src/os/error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace beeline::os {

Error system_error(std::string what) {
  const int sys_errno = errno;
  return system_error(ErrorCode::kSystem, sys_errno, std::move(what));
}

Error system_error(ErrorCode code, int sys_errno, std::string what) {
  // std::system_category() is strerror without its shared buffer.
  what += ": " + std::system_category().message(sys_errno) + " (errno " +
          std::to_string(sys_errno) + ")";
  return Error{code, sys_errno, std::move(what)};
}

tl::unexpected<Error> system_failure(std::string what) {
  return tl::unexpected<Error>(system_error(std::move(what)));
}

tl::unexpected<Error> system_failure(ErrorCode code, int sys_errno, std::string what) {
  return tl::unexpected<Error>(system_error(code, sys_errno, std::move(what)));
}

}  // namespace beeline::os
