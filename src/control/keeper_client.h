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

// The limit of open files of this process; the keeper's is the same.
[[nodiscard]] std::size_t descriptor_limit();
// How many descriptors the keeper may hold. The rest is left for clients: a third of the limit, but
// at most one for each possible agent.
[[nodiscard]] std::size_t room_for_all();
// How many the keeper may hold when one more link comes. A quarter of room_for_all() is held back
// for the lives of agents that come to read the links. Each possible agent needs one life of four
// descriptors (kFdsOfAgent), so at most that many are held back.
[[nodiscard]] std::size_t room_for_links();

// The coordinator's end of the pair. A packet sent here survives the coordinator: the keeper reads
// a packet that is in the socket even if we die right after. Packets go out in the order of the
// calls, whatever failed meanwhile, so no record overtakes another one. Errors of all calls:
// kClosed (the keeper has gone: so must we), kTimeout, kFull, kNoMemory, kSystem. Not thread safe.
class KeeperClient {
 public:
  KeeperClient() noexcept = default;
  explicit KeeperClient(os::PacketSocket socket) noexcept : socket_(std::move(socket)) {}

  // Counts the descriptors of the records that the keeper holds already.
  void know(const KeptTable& table);

  // Stores or replaces a record now, or not at all; the keeper gets duplicates of the descriptors.
  // kFull if it would hold too many of them: a keeper without a free descriptor loses records, and
  // we have no room left for clients.
  [[nodiscard]] Result<void> keep(std::string_view key, std::string_view value,
                                  std::span<const int> fds);
  // Replaces the value of a record now, or not at all. Its descriptors stay, so a keeper without a
  // free descriptor does not lose it.
  [[nodiscard]] Result<void> note_now(std::string_view key, std::string_view value);
  // How many descriptors the keeper holds.
  [[nodiscard]] std::size_t held() const noexcept { return total_; }

  // Calls for events that have happened already, whether or not the keeper has heard of them. None
  // of these can fail: a packet that cannot be sent now is overdue, and settle() sends it.

  // Gives a record another value; its descriptors stay.
  void note(std::string_view key, std::string_view value);
  // Gives a record another value and drops its descriptors, because they are no longer needed.
  void strip(std::string_view key, std::string_view value);
  void drop(std::string_view key);
  void say(std::string_view verb);

  // Sends what is overdue, without waiting; call it again until it succeeds. The error says why
  // the keeper has not heard everything; kTimeout if a call has waited for it in vain.
  [[nodiscard]] Result<void> settle() { return settle_until(0); }
  // Does as settle(), but waits up to a second for a busy keeper.
  [[nodiscard]] Result<void> settle_patiently();
  [[nodiscard]] bool is_settled() const noexcept { return overdue_.empty(); }

  // The next packet of the keeper, nullopt if none waits. If its descriptors found no room here,
  // it says so.
  [[nodiscard]] Result<std::optional<os::Packet>> try_next();

  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

 private:
  struct Overdue {
    std::string packet;
    std::string emptied;  // the key that has no descriptors after this packet, if any
  };
  // Until when to wait for a busy keeper, CLOCK_MONOTONIC. 0 after a call has waited in vain. So
  // only one call waits for a stopped keeper.
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
  bool takes_nothing_ = false;  // a call has waited for the keeper in vain
  // No record is made while anything is overdue, so the queue is bounded by the changes that the
  // existing records can have.
  std::deque<Overdue> overdue_;
};

}  // namespace beeline::control
