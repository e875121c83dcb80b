#include "src/agent/send_error.h"

#include <string_view>

#include <fmt/format.h>

#include "shm/strings.h"
#include "src/send/shortage.h"

namespace beeline {

namespace {

std::string too_big(const SendResult& result, std::size_t bytes, const SendOptions& options,
                    const AttachOptions& own) {
  if (result.limit != shm::kMaxStringLength) {
    const bool of_hive = own.max_payload_bytes == 0;
    return fmt::format("the payload has {} bytes, the limit {}is {}; send it in parts, or {}",
                       bytes, of_hive ? "of the hive " : "", result.limit,
                       of_hive ? "raise that with `beeline up --max-payload` when the hive starts"
                               : "attach with a larger max_payload_bytes");
  }
  const bool type = options.type.size() > shm::kMaxStringLength;
  const std::string_view text = type ? options.type : options.channel;
  return fmt::format("the {} \"{}\" has {} bytes, the limit is {}; use a shorter one",
                     type ? "type" : "channel", text, text.size(), shm::kMaxStringLength);
}

std::string no_memory(std::size_t bytes) {
  const std::string& reason = send::shortage_of_thread;
  return fmt::format("the system has no memory for {} bytes of payload: {}", bytes,
                     reason.empty() ? "try later" : reason);
}

}  // namespace

std::string why_not_sent(const SendResult& result, std::size_t bytes, const SendOptions& options,
                         const AttachOptions& own) {
  switch (result.status) {
    case SendStatus::kTooBig:
      return too_big(result, bytes, options, own);
    case SendStatus::kFull:
      return "the receiver has not taken what lies in the link, and there is no room for more; try "
             "later, or see in `beeline status` what it is at";
    case SendStatus::kRateLimited:
      return fmt::format("send_rate allows {} messages per second to each peer; try later",
                         own.send_rate);
    case SendStatus::kLoop:
      return fmt::format(
          "more than max_hops = {} messages would have led to it; end the chain, or send with "
          "inherit = false what does not belong to it",
          own.max_hops);
    case SendStatus::kDenied:
      return "the rules of the tree forbid it, and `beeline route` names the rule; or the link was "
             "ended because of what was found in it, and the log of the coordinator says so";
    case SendStatus::kNoMemory:
      return no_memory(bytes);
    case SendStatus::kPeerDead:
      return "the receiver is finally dead; ask Agent::peer() who has its name now";
    case SendStatus::kNoAgent:
      return "nobody has that name or pid; `beeline tree` shows who is there";
    default:
      return "this agent has left the hive, attach again; or there was no target, name one; or "
             "no link could be opened, look whether the coordinator answers (`beeline status`)";
  }
}

}  // namespace beeline
