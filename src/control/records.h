#pragma once

// The values of the keeper's records: everything that a new coordinator needs to go on after the
// old one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <beeline/result.h>

#include "src/control/keeper_table.h"
#include "src/control/registry.h"
#include "src/control/tree.h"

namespace beeline::control {

inline constexpr std::string_view kDirectoryKey = "directory";
inline constexpr std::string_view kDeadLettersKey = "dead_letters";    // how many there were
inline constexpr std::string_view kEndedLinksKey = "ended_links";      // how many there were
inline constexpr std::string_view kHistoryLevelKey = "history_level";  // how much agents record
inline constexpr std::string_view kPidsKey = "pids";  // the lowest pid that was never reserved

[[nodiscard]] std::string agent_key(Pid pid, shm::Incarnation incarnation);
[[nodiscard]] std::string link_key(const shm::LinkKey& key);
[[nodiscard]] std::string history_key(Pid pid, shm::Incarnation incarnation);
// The pid and the incarnation in such a key; nothing for any other text.
[[nodiscard]] std::optional<std::pair<Pid, shm::Incarnation>> parse_history_key(
    std::string_view key);
[[nodiscard]] std::string bell_key(const BellKey& key);

// One life of an agent, with facts about the agent. fds: pidfd [, home, status, eventfd]; none for
// a life that ended and has a home that no agent needs any more.
struct LifeRecord {
  Pid pid = kNoPid;
  shm::Incarnation incarnation{};
  Pid parent = kNoPid;
  std::string name;
  Role role = Role::kAgent;
  uid_t uid = 0;  // the agent
  uid_t life_uid = 0;
  bool temporary = false;       // the agent
  bool life_temporary = false;  // becomes the agent's `temporary` when this life is ready
  std::uint32_t index = 0;
  std::uint64_t attached_ns = 0;
  std::uint64_t restarts = 0;
  std::int32_t os_pid = 0;
  bool ready = false;
  bool ended = false;                         // detached or fenced: the pidfd would not tell
  bool lost = false;                          // it has lost its connection, and has not resumed
  bool dead = false;                          // final
  bool taken_over = false;                    // dead, and the take-over is complete
  bool purged = false;                        // see registry.h
  std::uint64_t letters_then = 0;             // see registry.h
  std::vector<shm::Incarnation> untold_ends;  // the agent: see registry.h
  std::string ticket;                         // the agent: see registry.h
};

// fds: the link.
struct LinkRecord {
  shm::LinkKey key;
  Pid owner = kNoPid;
  Pid reader = kNoPid;
  shm::LinkContract contract;
  bool may_send = false;
  bool faded = false;
  bool left_empty = false;
  bool released = false;
  std::int64_t opened_ns = 0;
  bool ended = false;
};

[[nodiscard]] std::string build(const LifeRecord& record);
[[nodiscard]] std::string build(const LinkRecord& record);
// fds: the eventfd.
[[nodiscard]] std::string build(const BellKey& record);
[[nodiscard]] std::string build_number(std::uint64_t number);
// Errors: kProtocol. We wrote the text, so that is a bug of ours.
[[nodiscard]] Result<LifeRecord> parse_life(std::string_view text);
[[nodiscard]] Result<LinkRecord> parse_link(std::string_view text);
[[nodiscard]] Result<BellKey> parse_bell(std::string_view text);
// 0 if there is none.
[[nodiscard]] std::uint64_t kept_number(const KeptTable& table, std::string_view key);

}  // namespace beeline::control
