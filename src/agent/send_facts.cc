#include "src/agent/send_facts.h"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "shm/strings.h"
#include "src/agent/status.h"
#include "src/send/shortage.h"

namespace beeline {

namespace {

// The words of the errors that became results last in this thread.
class Words {
 public:
  // Returns the number that finds them again.
  std::uint64_t keep(std::string_view words) {
    texts_[++count_ % texts_.size()] = words;
    return count_;
  }
  // Empty where they are forgotten, or those of another thread.
  [[nodiscard]] std::string_view find(std::uint64_t number) const {
    const bool is_kept = number <= count_ && count_ - number < texts_.size();
    return is_kept ? std::string_view(texts_[number % texts_.size()]) : std::string_view();
  }

 private:
  std::array<std::string, 16> texts_;
  std::uint64_t count_ = 0;
};

thread_local Words words_of_thread;

std::string no_memory_text(std::uint64_t bytes) {
  const std::string& reason = send::shortage_of_thread;
  return fmt::format("the system has no memory for {} bytes of payload: {}", bytes,
                     reason.empty() ? "try later" : reason);
}

std::string full_text(std::uint64_t not_taken) {
  const std::string what =
      not_taken == 0 ? "what lies in the link" : fmt::format("{} of our messages", not_taken);
  return "the receiver has not taken " + what +
         ", and there is no room for more; see in `beeline status` what it is at, and try later, "
         "or "
         "wait for room (send_until(), `beeline send --timeout`)";
}

std::string denied_text(std::uint64_t from, Pid to) {
  const std::string pair = from != 0 && to != 0 ? fmt::format(" {} {}", from, to) : "";
  return fmt::format(
      "the rules of the tree forbid it, and `beeline route{}` names the rule; or the link was "
      "ended "
      "because of what was found in it, and the log of the coordinator says so",
      pair);
}

}  // namespace

SendResult SendFacts::of(SendStatus status, Pid to, std::uint64_t value) {
  SendResult result(status);
  result.to_ = to;
  result.value_ = value;
  return result;
}

SendResult SendFacts::of_payload(Pid to, std::uint64_t bytes, std::uint64_t limit,
                                 bool is_limit_of_hive) {
  SendResult result = of(SendStatus::kTooBig, to, bytes);
  result.limit = limit;
  result.about_ = is_limit_of_hive ? SendResult::About::kHivePayload : SendResult::About::kPayload;
  return result;
}

SendResult SendFacts::of_texts(Pid to, std::string_view type, std::string_view channel) {
  const bool is_type = type.size() >= channel.size();
  SendResult result = of(SendStatus::kTooBig, to, is_type ? type.size() : channel.size());
  result.limit = shm::kMaxStringLength;
  result.about_ = is_type ? SendResult::About::kType : SendResult::About::kChannel;
  return result;
}

SendResult SendFacts::of_rate(Pid to, double per_second) {
  return of(SendStatus::kRateLimited, to, std::bit_cast<std::uint64_t>(per_second));
}

SendResult SendFacts::of_hops(Pid to, std::uint32_t hops, std::uint32_t limit) {
  SendResult result = of(SendStatus::kLoop, to, hops);
  result.limit = limit;
  return result;
}

SendResult SendFacts::of_origin(Pid to) {
  SendResult result = of(SendStatus::kNoRoute, to);
  result.about_ = SendResult::About::kOrigin;
  return result;
}

SendResult SendFacts::of_error(const Error& error) {
  SendResult result = of(status_of(error.code), 0, words_of_thread.keep(error.text));
  result.about_ = SendResult::About::kWords;
  return result;
}

std::string SendFacts::reason(const SendResult& result) {
  using About = SendResult::About;
  const std::uint64_t value = result.about_ == About::kWords ? 0 : result.value_;
  if (result.about_ == About::kWords) {
    if (const auto words = words_of_thread.find(result.value_); !words.empty()) {
      return std::string(words);
    }
  }
  if (result.about_ == About::kOrigin) return std::string(kNoOrigin);
  switch (result.status) {
    case SendStatus::kTooBig: {
      if (result.about_ == About::kType || result.about_ == About::kChannel) {
        return fmt::format("the {} has {} bytes, the limit is {}; use a shorter one",
                           result.about_ == About::kType ? "type" : "channel", value, result.limit);
      }
      const bool of_hive = result.about_ == About::kHivePayload;
      return fmt::format("the payload has {} bytes, the limit {}is {}; send it in parts, or {}",
                         value, of_hive ? "of the hive " : "", result.limit,
                         of_hive ? "raise that with `beeline up --max-payload` when the hive starts"
                                 : "attach with a larger max_payload_bytes");
    }
    case SendStatus::kFull:
      return full_text(value);
    case SendStatus::kRateLimited:
      return fmt::format("send_rate allows {} messages per second to each peer; try later",
                         std::bit_cast<double>(value));
    case SendStatus::kLoop:
      return fmt::format(
          "its hops() would be {}, more than max_hops = {}; end the chain, or send with inherit = "
          "false what does not belong to it",
          value, result.limit);
    case SendStatus::kDenied:
      return denied_text(value, result.to_);
    case SendStatus::kNoMemory:
      return no_memory_text(value);
    case SendStatus::kPeerDead:
      return "the receiver is finally dead; `beeline tree` shows who has its name now, and "
             "Agent::peer() finds it";
    case SendStatus::kNoAgent:
      return "nobody has that name or pid; `beeline tree` shows who is there";
    default:
      return "this agent has left the hive, attach again; or there was no target, name one; or "
             "no link could be opened, look whether the coordinator answers (`beeline status`)";
  }
}

std::string SendFacts::why(const SendResult& result) {
  return std::string(to_string(result.status)) + ": " + reason(result);
}

std::string SendResult::text() const {
  if (*this) return "ok";
  const std::string to = to_ == 0 ? "" : fmt::format(" to agent {}", to_);
  return fmt::format("message{} was not sent: {}", to, SendFacts::why(*this));
}

}  // namespace beeline
