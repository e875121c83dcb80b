#pragma once
// A SendResult holds the numbers of a send that failed. SendFacts makes a text of them: the
// problem, the limit, the value, the next step.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

// The error text of a call that was given no valid peer.
inline constexpr std::string_view kNoPeer = "no peer: take one from Agent::peer()";
// The words of a call that is about a message which its thread may not name.
inline constexpr std::string_view kNoOrigin =
    "SendOptions::about is no message that this agent holds, or not the one that is answered, or "
    "another thread sends: name a message that has not ended, or give cause and trace";

struct SendFacts {
  // `value`: kFull: messages that the receiver has not taken; kDenied: pid of the sender;
  // kNoMemory: bytes of the payload; 0: not known.
  [[nodiscard]] static SendResult of(SendStatus status, Pid to, std::uint64_t value = 0);
  // The result for a payload longer than the limit of the hive, or than the limit that this agent
  // has set for its links.
  [[nodiscard]] static SendResult of_payload(Pid to, std::uint64_t bytes, std::uint64_t limit,
                                             bool is_limit_of_hive);
  // The result for the longer of the two.
  [[nodiscard]] static SendResult of_texts(Pid to, std::string_view type, std::string_view channel);
  [[nodiscard]] static SendResult of_rate(Pid to, double per_second);
  [[nodiscard]] static SendResult of_hops(Pid to, std::uint32_t hops, std::uint32_t limit);
  // SendOptions::about is no message that the sending thread may name.
  [[nodiscard]] static SendResult of_origin(Pid to);
  // Keeps the text of the error. Each thread keeps its newest 16. Ask for the text in the same
  // thread, because another thread does not find it.
  [[nodiscard]] static SendResult of_error(const Error& error);

  // The reason alone.
  [[nodiscard]] static std::string reason(const SendResult& result);
  // The status, then the reason.
  [[nodiscard]] static std::string why(const SendResult& result);
};

}  // namespace beeline
