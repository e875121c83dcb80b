#include "tools/beeline/demo/events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::cli::demo {

Result<EventWriter> EventWriter::open(const std::string& path, std::string agent) {
  os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return os::system_failure(fmt::format("cannot open the pipe {}", path));
  return EventWriter(std::move(fd), std::move(agent));
}

void EventWriter::write(std::string_view event, Json fields) const {
  Json line = {{"event", event}, {"agent", agent_}, {"os_pid", ::getpid()}};
  line.update(fields);
  // Shorter than PIPE_BUF, so lines of several processes do not mix.
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  while (::write(fd_.get(), text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

Result<EventReader> EventReader::make(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0) {
    return os::system_failure(fmt::format("cannot make the pipe {}", path));
  }
  // As it is a writer too, the pipe does not end between two processes.
  os::UniqueFd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return os::system_failure(fmt::format("cannot open the pipe {}", path));
  return EventReader(std::move(fd));
}

Result<std::optional<Json>> EventReader::next() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      Json event = Json::parse(buffer_.substr(0, end), nullptr, false);
      buffer_.erase(0, end + 1);
      if (!event.is_object()) return fail(ErrorCode::kProtocol, "an event of the demo is no JSON");
      return std::optional<Json>(std::move(event));
    }
    std::array<char, 16 * 1024> bytes{};
    const ssize_t count = ::read(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::optional<Json>();
    if (count < 0) return os::system_failure("cannot read the events of the demo");
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace beeline::cli::demo
