#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/types.h>

namespace beeline {

/// The targets of a broadcast: agents of the hive that are not finally dead, except the sender and
/// the coordinator. The sender reads the directory once, when it broadcasts.
struct Group {
  enum class Kind : std::uint8_t {
    kAll,       ///< every agent that the rules let the sender send to
    kChildren,  ///< the sender's children
    kSubtree,   ///< the sender's children, their children, and so on
    kRole,      ///< every agent of one role
  };
  Kind kind = Kind::kAll;
  std::string role_word{};  ///< for kRole; a word that is not a role matches no agent

  [[nodiscard]] static Group all() { return {Kind::kAll, {}}; }
  [[nodiscard]] static Group children() { return {Kind::kChildren, {}}; }
  [[nodiscard]] static Group subtree() { return {Kind::kSubtree, {}}; }
  /// `word` as in AttachOptions::role.
  [[nodiscard]] static Group role(std::string_view word) {
    return {Kind::kRole, std::string(word)};
  }
};

/// The result of a broadcast for one of its targets. A target that the rules forbid is listed as
/// kDenied, but left out where the group is kAll. A target that has ended the link from the sender
/// is listed as kDenied in any group.
struct Delivery {
  Pid pid = 0;
  std::string name{};
  SendResult result{};
};

}  // namespace beeline
