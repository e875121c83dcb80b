#pragma once
// Names of segments as /proc shows them. Only tools that look for segments depend on a name.

#include <string>

#include "shm/identity.h"

namespace beeline::segment {

[[nodiscard]] inline std::string home_name(const std::string& hive, std::uint32_t pid,
                                           shm::Incarnation incarnation) {
  return "beeline-" + hive + "-home-" + std::to_string(pid) + "-" +
         std::to_string(incarnation.value());
}
[[nodiscard]] inline std::string status_name(const std::string& hive, std::uint32_t pid,
                                             shm::Incarnation incarnation) {
  return "beeline-" + hive + "-status-" + std::to_string(pid) + "-" +
         std::to_string(incarnation.value());
}
[[nodiscard]] inline std::string history_name(const std::string& hive, std::uint32_t pid,
                                              shm::Incarnation incarnation) {
  return "beeline-" + hive + "-history-" + std::to_string(pid) + "-" +
         std::to_string(incarnation.value());
}
[[nodiscard]] inline std::string link_name(const std::string& hive, std::uint32_t owner,
                                           const shm::LinkKey& key, std::uint32_t peer) {
  return "beeline-" + hive + "-link-" + std::to_string(owner) + "-" +
         std::to_string(key.incarnation.value()) + "-" + std::to_string(key.serial) + "-" +
         std::to_string(peer);
}

}  // namespace beeline::segment
