#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline {

/// Whom a broadcast goes to: agents of the hive that are not finally dead, without the sender and
/// the coordinator. Read at the moment of the broadcast.
struct Group {
  enum class Kind : std::uint8_t {
    kAll,       ///< everybody whom the rules let the sender send to
    kChildren,  ///< the sender's children
    kSubtree,   ///< the sender's children, their children, and so on
    kRole,      ///< everybody of one role
  };
  Kind kind = Kind::kAll;
  std::string role_word{};  ///< for kRole; a word that is no role names nobody

  [[nodiscard]] static Group all() { return {Kind::kAll, {}}; }
  [[nodiscard]] static Group children() { return {Kind::kChildren, {}}; }
  [[nodiscard]] static Group subtree() { return {Kind::kSubtree, {}}; }
  /// As in AttachOptions::role.
  [[nodiscard]] static Group role(std::string_view word) {
    return {Kind::kRole, std::string(word)};
  }
};

/// What became of a broadcast for one of its targets. Those that the rules forbid are listed as
/// kDenied, but left out where the group is kAll; one that has ended the link to it is listed so
/// in any group.
struct Delivery {
  Pid pid = 0;
  std::string name{};
  SendResult result{};
};

}  // namespace beeline
