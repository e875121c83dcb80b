#pragma once
// A villain: an agent of the hive that attaches by the rules and then writes anything into its own
// memory. It uses no part of the engine that would stop it.

#include <cstdint>
#include <string>
#include <string_view>

#include "shm/home.h"
#include "shm/link.h"
#include "shm/status.h"
#include "src/control/client.h"
#include "src/os/mapping.h"
#include "src/segment/owned.h"

namespace beeline::test {

class Villain {
 public:
  // Whether its name ends with it, or another life may follow.
  enum class Stay : std::uint8_t { kTemporary, kForGood };
  // Attaches as a child of `victim`, opens a link to it, and waits for the link back. Fails the
  // test if that is not possible.
  Villain(const std::string& name, const std::string& victim, Stay stay = Stay::kTemporary);

  [[nodiscard]] Pid pid() const { return attached_.pid; }
  [[nodiscard]] Pid victim() const { return victim_; }
  [[nodiscard]] const shm::LinkKey& key() const { return key_; }
  // Its link to the victim; it may write all of it.
  [[nodiscard]] const shm::Link& link() const { return link_; }
  [[nodiscard]] const segment::Owned& memory() const { return memory_; }
  // Maps its slabs of the smallest class, which it must have allocated before it writes them.
  [[nodiscard]] std::byte* map_slabs();
  // Its own home, which only its next life reads.
  [[nodiscard]] shm::Home home() const;
  // The victim's link to it.
  [[nodiscard]] const shm::LinkView& shown() const { return shown_; }
  [[nodiscard]] const shm::LinkKey& shown_key() const { return shown_key_; }
  // Its own status page and eventfd, which the victim reads and rings.
  [[nodiscard]] shm::StatusPage& status() const {
    return *reinterpret_cast<shm::StatusPage*>(status_.data());
  }
  [[nodiscard]] int event() const { return event_.get(); }
  // Those of the victim, as every peer has them.
  [[nodiscard]] const shm::StatusPage& victim_status() const {
    return *reinterpret_cast<const shm::StatusPage*>(victim_status_.data());
  }
  [[nodiscard]] int victim_event() const { return victim_event_.get(); }
  [[nodiscard]] control::Client& client() { return client_; }

  // The header of a sound message.
  [[nodiscard]] shm::MessageHeader sound() const;
  // Publishes at the next position of a lane, and rings.
  void publish(const shm::MessageHeader& header, const void* area = nullptr,
               std::uint64_t generation = 0, shm::Lane lane = shm::Lane::kNormal);
  // The same for a small sound message.
  void say(std::string_view text);
  [[nodiscard]] std::uint64_t next_position() const { return positions_[0]; }
  // How many messages of the normal lane the victim has taken, by its receipts.
  [[nodiscard]] std::uint64_t taken() const;
  void ring_victim() const;
  // Opens a bank of receipts for the victim's link, as an honest reader does. Returns its number.
  std::size_t open_receipts();
  // The coordinator's report of the end of the link; fails the test if there is none.
  [[nodiscard]] std::string await_end();
  // The same without waiting.
  [[nodiscard]] bool has_ended();

 private:
  void join(const std::string& name, const std::string& victim, Stay stay);
  void open_link(const std::string& victim);
  void await_link_back();

  control::Client client_;
  control::Attached attached_;
  segment::Owned home_;
  segment::Owned status_;
  os::UniqueFd event_;
  Pid victim_ = 0;
  shm::LinkKey key_;
  segment::Owned memory_;
  shm::Link link_{nullptr, shm::LinkContract{}};
  shm::LinkKey shown_key_;
  os::Mapping shown_memory_;
  shm::LinkView shown_{nullptr, shm::LinkContract{}};
  os::Mapping victim_status_;
  os::UniqueFd victim_event_;
  std::uint64_t positions_[shm::kLanes] = {0, 0};
  std::uint64_t counter_ = 0;
  bool ended_ = false;
  std::string end_;
};

}  // namespace beeline::test
