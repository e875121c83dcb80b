#include "tools/beeline/demo/events.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/os/error.h"

namespace beeline::cli::demo {

void EventWriter::write(std::string_view event, Json fields) const {
  Json line = {{"event", event}, {"agent", agent_}, {"os_pid", ::getpid()}};
  line.update(fields);
  // Shorter than PIPE_BUF, so lines of several processes do not mix.
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  while (::write(fd_, text.data(), text.size()) < 0 && errno == EINTR) {
  }
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
    if (count == 0) {
      at_end_ = true;
      return std::optional<Json>();
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace beeline::cli::demo
