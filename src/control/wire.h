#pragma once

// The packets of the control protocol as typed values. A packet is one JSON object of at most
// kMaxPacketBytes; file descriptors travel beside it and are not part of these structs.
// docs/architecture.md describes the protocol itself. JSON stays inside wire.cc.
//
// Everything here is a plain value: nothing owns anything, all functions are thread safe, none
// throws. Bytes of another process fail to parse with kProtocol for garbage (drop the peer) and
// with kInvalid for a request that is understood but wrong (answer it).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <beeline/result.h>

#include "src/control/wire_answers.h"
#include "src/control/wire_requests.h"

namespace beeline::control {

inline constexpr std::size_t kMaxPacketBytes = 64 * 1024;
inline constexpr int kMaxJsonDepth = 8;
inline constexpr std::size_t kMaxListedAgents = 64;
inline constexpr std::size_t kMaxListedLinks = 512;
inline constexpr std::size_t kMaxListedLetters = 32;
inline constexpr std::size_t kMaxLetterPreview = 64;  // bytes

struct IncomingRequest {
  std::uint64_t seq = 0;
  std::string op;
  Result<Request> request;  // kInvalid: an unknown op or a wrong field, to be answered
};

// A packet that a client receives: an answer, which has a `seq`, or an announcement.
struct IncomingAnswer {
  std::uint64_t seq = 0;
  Answer answer;
};
using FromCoordinator = std::variant<IncomingAnswer, AnnouncedValue>;

// REQUIRES: the strings of the value fit a packet; text that is not UTF-8 is replaced.
[[nodiscard]] std::string build(const Request& request, std::uint64_t seq);
[[nodiscard]] std::string build(const Answer& answer, std::uint64_t seq);
[[nodiscard]] std::string build(const AnnouncedValue& announcement);

// Parses a packet of a client. Errors: kTooBig (the limit and the length), kProtocol (no JSON, too
// deep, no object, no op or seq).
[[nodiscard]] Result<IncomingRequest> parse_request(std::string_view text);

// Parses a packet of the coordinator. Errors: kTooBig, kProtocol.
[[nodiscard]] Result<FromCoordinator> parse_from_coordinator(std::string_view text);

// The code that a word of the wire names; kProtocol for an unknown one.
[[nodiscard]] ErrorCode error_code_from(std::string_view word) noexcept;

}  // namespace beeline::control
