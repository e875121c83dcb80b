#include <charconv>

#include <beeline/types.h>

#include "shm/identity.h"

namespace beeline {

std::string id_text(MessageId id) {
  if (id == 0) return {};
  char text[32];  // the longest has 20 bytes
  char* const end = text + sizeof(text);
  char* const colon = std::to_chars(text, end, shm::pid_of_message(id)).ptr;
  *colon = ':';
  return {text, std::to_chars(colon + 1, end, shm::counter_of_message(id)).ptr};
}

std::optional<MessageId> parse_id(std::string_view text) {
  std::uint32_t pid = 0;
  std::uint64_t counter = 0;
  const char* const end = text.data() + text.size();
  const auto colon = std::from_chars(text.data(), end, pid);
  if (colon.ec != std::errc() || colon.ptr == end || *colon.ptr != ':') return std::nullopt;
  const auto rest = std::from_chars(colon.ptr + 1, end, counter);
  if (rest.ec != std::errc() || rest.ptr != end) return std::nullopt;
  const bool possible = pid != 0 && pid <= shm::kMaxPid && counter != 0 &&
                        counter < std::uint64_t{1} << shm::kMessageCounterBits;
  if (!possible) return std::nullopt;
  return shm::make_message_id(pid, counter);
}

}  // namespace beeline
