#pragma once

// The segments in which one inbox lies: the home of its agent, and the links to it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/result.h>

#include "src/look/segments.h"

namespace beeline::look {

// Copies of the directory, of the links to an agent and of its homes.
class InboxSegments {
 public:
  // Errors: those of find_segments() and load_segment(). Links that cannot be loaded count as
  // damaged.
  [[nodiscard]] static Result<InboxSegments> load(std::string_view hive, std::uint32_t pid);

  [[nodiscard]] const Segments& all() const { return all_; }
  // Null if there is none, or a damaged one.
  [[nodiscard]] const Segment* home() const { return all_.find_home(pid_); }
  // Why there is no home. `hidden`: why not all segments are visible; empty: all are.
  [[nodiscard]] Error why_no_home(const std::string& hidden) const;
  // Whether a home was found that is none.
  [[nodiscard]] bool has_damaged_home() const { return !damaged_home_.empty(); }
  // Whether all these links were found, damaged or not: the keeper may not have received the newest
  // ones yet.
  [[nodiscard]] bool has_all(const std::vector<shm::LinkKey>& links) const;
  // How many of these links are damaged.
  [[nodiscard]] std::size_t damaged_links(const std::vector<shm::LinkKey>& links) const;

 private:
  InboxSegments(std::uint32_t pid, std::vector<Segment> loaded)
      : pid_(pid), all_(std::move(loaded)) {}

  std::uint32_t pid_;
  Segments all_;
  std::map<std::pair<shm::Incarnation, std::uint32_t>, bool> links_;  // by incarnation and serial;
                                                                      // true: sound
  std::string damaged_home_;  // what is wrong with it; empty: there is none
};

// The link that a row of a home is for; null if there is none.
[[nodiscard]] const Segment* link_of_row(const Segments& all, const Segment& home,
                                         shm::RowIndex row);

// The error for an inbox that cannot be read from here. Code: kDenied.
[[nodiscard]] Error unreadable(std::uint32_t pid, const std::string& why);

}  // namespace beeline::look
