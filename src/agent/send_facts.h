#pragma once
// A SendResult remembers numbers of a send that failed. SendFacts makes words of them: the problem,
// the limit, the value, the next step.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

// The words of a call that needs a peer and has none.
inline constexpr std::string_view kNoPeer = "no peer: take one from Agent::peer()";

struct SendFacts {
  // `value`: of kFull the messages that the receiver has not taken, of kDenied the pid of the
  // sender, of kNoMemory the bytes of the payload; 0 where that is not known.
  [[nodiscard]] static SendResult of(SendStatus status, Pid to, std::uint64_t value = 0);
  // A payload that is longer than the limit of the hive, or than what this agent sends.
  [[nodiscard]] static SendResult of_payload(Pid to, std::uint64_t bytes, std::uint64_t limit,
                                             bool is_limit_of_hive);
  // The longer one of them is too long.
  [[nodiscard]] static SendResult of_texts(Pid to, std::string_view type, std::string_view channel);
  [[nodiscard]] static SendResult of_rate(Pid to, double per_second);
  [[nodiscard]] static SendResult of_hops(Pid to, std::uint32_t hops, std::uint32_t limit);
  // In words of their own: the receiver was not found, or its link not opened, for example.
  [[nodiscard]] static SendResult of_error(const Error& error);

  // Why it was not sent, without the receiver and the word of the status.
  [[nodiscard]] static std::string reason(const SendResult& result);
  // The same after that word.
  [[nodiscard]] static std::string why(const SendResult& result);
};

}  // namespace beeline
