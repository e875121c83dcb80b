#include "src/buffer/grouping.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace beeline::buffer {

std::vector<Group> group_rows(std::vector<Message> rows) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (Message& row : rows) {
    const auto [place, is_new] =
        places.try_emplace(std::pair(row.conversation, row.channel), groups.size());
    if (is_new) groups.push_back({row.channel, row.conversation, {}});
    groups[place->second].messages.push_back(std::move(row));
  }
  for (Group& group : groups) std::ranges::sort(group.messages, {}, &Message::id);
  return groups;
}

std::vector<Slice> slice_group(const Group& group, const BatchLimits& limits, const Fill* growing) {
  std::vector<Slice> slices;
  Fill fill = growing != nullptr ? *growing : Fill{};
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    const std::uint64_t bytes = group.messages[i].payload.size();
    const bool has_room = fill.messages < limits.messages && fill.bytes + bytes <= limits.bytes;
    const bool begins = slices.empty() ? growing == nullptr || !has_room : !has_room;
    if (begins) fill = {};
    if (begins || slices.empty()) slices.push_back({i, i, 0, !begins});
    ++fill.messages;
    fill.bytes += bytes;
    slices.back().end = i + 1;
    slices.back().bytes += bytes;
  }
  return slices;
}

}  // namespace beeline::buffer
