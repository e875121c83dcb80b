#include "src/receive/selection.h"

#include <algorithm>

#include "src/receive/expiry.h"

namespace beeline::receive {

namespace {

// The ids of one agent tell which of its messages was sent first. The clock orders messages of
// several agents; within one tick of the clock their arrival does.
bool is_older(const shm::Entry& first, const shm::Entry& second, const Selection& selection) {
  if (selection.from != 0 && first.header.id != second.header.id) {
    return first.header.id < second.header.id;
  }
  if (first.header.sent_ns != second.header.sent_ns) {
    return first.header.sent_ns < second.header.sent_ns;
  }
  return first.arrival < second.arrival;
}

shm::EntryIndex find_oldest(const Entries& entries, const Selection& selection) {
  shm::EntryIndex found = shm::kNoEntry;
  entries.inbox().index().for_each([&](const shm::IndexNode& node) {
    const shm::EntryIndex at = node.entry();
    const bool better =
        found == shm::kNoEntry || is_older(entries.entry(at), entries.entry(found), selection);
    if (better && matches(entries, at, selection)) found = at;
    return true;
  });
  return found;
}

}  // namespace

bool matches(const Entries& entries, shm::EntryIndex at, const Selection& selection) {
  const shm::MessageHeader& header = entries.entry(at).header;
  if (selection.from != 0 && shm::pid_of_message(header.id) != selection.from) return false;
  if (selection.reply_to != 0 && header.reply_to != selection.reply_to) return false;
  if (!selection.type.empty() && entries.type(at).view() != selection.type) return false;
  return selection.channel.empty() || entries.channel(at).view() == selection.channel;
}

shm::EntryIndex find_selected(const Entries& entries, const Selection& selection) {
  if (selection.oldest_first) return find_oldest(entries, selection);
  return entries.inbox().find([&](const shm::Entry& found) {
    return matches(
        entries,
        shm::EntryIndex(static_cast<std::uint32_t>(&found - &entries.entry(shm::EntryIndex(0)))),
        selection);
  });
}

std::vector<shm::EntryIndex> list(const Entries& entries, const Selection& selection) {
  std::vector<shm::IndexNode> nodes;
  entries.inbox().index().for_each([&](const shm::IndexNode& node) {
    const shm::EntryIndex at = node.entry();
    if (!has_expired(entries.entry(at)) && matches(entries, at, selection)) nodes.push_back(node);
    return true;
  });
  std::sort(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) {
    if (!selection.oldest_first) return a.before(b);
    return is_older(entries.entry(a.entry()), entries.entry(b.entry()), selection);
  });
  std::vector<shm::EntryIndex> found;
  for (const shm::IndexNode& node : nodes) found.push_back(node.entry());
  return found;
}

}  // namespace beeline::receive
