#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <beeline/result.h>

#include "src/control/keeper_table.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

/// The limit of open files of this process; the keeper's is the same.
[[nodiscard]] std::size_t descriptor_limit();
/// How many descriptors the keeper may hold: a third of all at most is for clients.
[[nodiscard]] std::size_t room_for_all();
/// How many it may hold when one more link comes: of the rest a quarter is for the lives of those
/// who come to read the links. One for each agent that there may be, and four, are enough.
[[nodiscard]] std::size_t room_for_links();

/// The coordinator's end of the pair. What was said here survives the coordinator: a packet that is
/// in the socket is read by the keeper even if we die right after. It reads them in the order in
/// which they were said, whatever failed meanwhile: no record overtakes another one. Errors of all
/// calls: kClosed (the keeper has gone: so must we), kTimeout, kFull, kNoMemory, kSystem. Not
/// thread safe.
class KeeperClient {
 public:
  KeeperClient() noexcept = default;
  explicit KeeperClient(os::PacketSocket socket) noexcept : socket_(std::move(socket)) {}

  /// Takes note of what the keeper holds already.
  void know(const KeptTable& table);

  /// Stores or replaces a record now, or not at all; the keeper gets duplicates of the descriptors.
  /// kFull if it would hold too many of them: a keeper without a free descriptor loses records, and
  /// we have no place left for clients.
  [[nodiscard]] Result<void> keep(std::string_view key, std::string_view value,
                                  std::span<const int> fds);
  /// Replaces the value of a record now, or not at all. Its descriptors are as they were: a keeper
  /// that has none free does not lose it.
  [[nodiscard]] Result<void> note_now(std::string_view key, std::string_view value);
  /// How many descriptors the keeper holds.
  [[nodiscard]] std::size_t held() const noexcept { return total_; }

  // What has happened already, and is so whether the keeper has heard it or not. None of these can
  // fail: what cannot be said now is overdue, and settle() says it.

  /// The record has another value; its descriptors are as they were.
  void note(std::string_view key, std::string_view value);
  /// The same, and nobody needs its descriptors any more.
  void strip(std::string_view key, std::string_view value);
  void drop(std::string_view key);
  void say(std::string_view verb);

  /// Says what is overdue, without waiting; to be called again until it succeeds. The error is why
  /// the keeper has not heard all, or kTimeout where somebody has waited for it in vain.
  [[nodiscard]] Result<void> settle() { return settle_until(0); }
  /// The same, waiting a second at most for a keeper that is busy.
  [[nodiscard]] Result<void> settle_patiently();
  [[nodiscard]] bool is_settled() const noexcept { return overdue_.empty(); }

  /// The next packet of the keeper, nullopt if none waits. One whose descriptors found no room here
  /// says so.
  [[nodiscard]] Result<std::optional<os::Packet>> try_next();

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  struct Overdue {
    std::string packet;
    std::string emptied;  // the key under which the keeper holds nothing then, if there is one
  };
  /// Until when to wait for a keeper that is busy, CLOCK_MONOTONIC. One that is stopped is waited
  /// for once, and not by each caller: 0.
  [[nodiscard]] std::int64_t end_of_patience() const;
  [[nodiscard]] Result<void> settle_until(std::int64_t until_ns);
  [[nodiscard]] Result<void> send(std::string_view packet, std::span<const int> fds,
                                  std::int64_t until_ns);
  [[nodiscard]] Result<void> say_now(std::string_view packet, std::span<const int> fds);
  void say_sometime(Overdue overdue);
  void hold(std::string_view key, std::size_t count);

  os::PacketSocket socket_;
  std::map<std::string, std::size_t, std::less<>> held_;  // descriptors under each key, if any
  std::size_t total_ = 0;
  bool takes_nothing_ = false;  // somebody has waited for it in vain
  // No record is made while anything is overdue, so there is never more of this than can become of
  // the records that there are.
  std::deque<Overdue> overdue_;
};

}  // namespace beeline::control
