#pragma once
// One process's end of a peer. Each peer has its own class; driver.h is compiled for each of them,
// so that no call of the measured loop is virtual.
//
//   struct Somebody {
//     static Result<Somebody> create(const PeerCase&);  // in the parent, once for a row; kTooBig:
//                                                       // it cannot carry this, the row is skipped
//     static constexpr bool kPinnedFirst = true;        // false: the port must see all CPUs
//     class Port;
//   };
//   class Somebody::Port : public PortBase {
//     static constexpr std::uint64_t kWindow = 0;  // most messages on the way; 0: the peer itself
//                                                  // makes a sender wait
//     Port(const Somebody&, const PeerCase&, const Place&);
//     bool listen();   // opens its receiving end
//     bool connect();  // opens its sending end; all have listened
//     bool send(std::uint64_t number, bool more);  // more: another follows at once
//     bool receive(std::uint64_t& number);         // waits, reads, finishes
//     void flush();                                // sends messages that `more` held back
//   };
//
// All return false after fail(). Payloads have PeerCase::size bytes; write_payload() and
// read_payload() touch the first and the last 8 of them or, in a test of filling, all.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <beeline/result.h>

#include "bench/payload.h"
#include "bench/peers/row.h"
#include "src/os/error.h"

namespace beeline::bench::peers {

inline constexpr std::size_t kSmallestPayload = 8;

// Message `count` of a sender, from 1 on.
[[nodiscard]] constexpr std::uint64_t numbered(std::uint32_t sender, std::uint64_t count) {
  return std::uint64_t{sender} << 48 | count;
}
[[nodiscard]] constexpr std::uint32_t sender_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number >> 48);
}
[[nodiscard]] constexpr std::uint64_t count_of(std::uint64_t number) {
  return number & ((1ULL << 48) - 1);
}
// The count of a sender's last message.
inline constexpr std::uint64_t kEndCount = (1ULL << 48) - 1;

class PortBase {
 public:
  static constexpr std::uint64_t kWindow = 0;

  PortBase(const PeerCase& what, const Place& place) : what_(what), place_(place) {}
  PortBase(const PortBase&) = delete;
  PortBase& operator=(const PortBase&) = delete;

  bool listen() { return true; }
  bool connect() { return true; }
  void flush() {}

  [[nodiscard]] Result<void> error() const {
    if (error_.empty()) return {};
    return beeline::fail(ErrorCode::kSystem, error_);
  }
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

 protected:
  ~PortBase() = default;

  [[nodiscard]] std::size_t size() const { return what_.size; }
  [[nodiscard]] const PeerCase& what() const { return what_; }
  [[nodiscard]] const Place& place() const { return place_; }

  void write_payload(void* payload, std::uint64_t number) const {
    auto* const bytes = static_cast<std::byte*>(payload);
    if (what_.test == PeerTest::kFill) return write_whole({bytes, size()}, number);
    std::memcpy(bytes, &number, sizeof number);
    std::memcpy(bytes + size() - sizeof number, &number, sizeof number);
  }

  bool read_payload(const void* payload, std::size_t length, std::uint64_t& number) {
    if (length != size()) return fail("a payload came with " + std::to_string(length) + " bytes");
    const auto* const bytes = static_cast<const std::byte*>(payload);
    std::memcpy(&number, bytes, sizeof number);
    return is_whole({bytes, length}, number) || fail("a payload is not what was sent");
  }
  // For a system call that has just failed.
  bool fail_by_errno(std::string call) { return fail(os::system_error(std::move(call)).text); }

 private:
  [[nodiscard]] bool is_whole(std::span<const std::byte> payload, std::uint64_t number) const {
    if (what_.test == PeerTest::kFill) return read_whole(payload, number);
    return std::memcmp(payload.data() + payload.size() - sizeof number, &number, sizeof number) ==
           0;
  }

  PeerCase what_;
  Place place_;
  std::string error_;
};

}  // namespace beeline::bench::peers
