// Selective receive: by sender, type, channel or what is answered, in delivery order or the oldest
// first. The rest of the inbox is not disturbed.

#include <algorithm>

#include "src/receive/receiver.h"

namespace beeline::receive {

bool Receiver::matches(std::uint32_t at, const Selection& selection) const {
  const shm::MessageHeader& header = entry(at).header;
  if (selection.from != 0 && shm::pid_of_message(header.id) != selection.from) return false;
  if (selection.reply_to != 0 && header.reply_to != selection.reply_to) return false;
  if (!selection.type.empty() && type(at).view() != selection.type) return false;
  return selection.channel.empty() || channel(at).view() == selection.channel;
}

// Messages of one agent tell by its count which was sent first, those of several by the clock, and
// by arrival within a tick of that.
bool Receiver::is_older(std::uint32_t a, std::uint32_t b, const Selection& selection) const {
  const shm::Entry& first = entry(a);
  const shm::Entry& second = entry(b);
  if (selection.from != 0 && first.header.id != second.header.id) {
    return first.header.id < second.header.id;
  }
  if (first.header.sent_ns != second.header.sent_ns) {
    return first.header.sent_ns < second.header.sent_ns;
  }
  return first.arrival < second.arrival;
}

std::uint32_t Receiver::oldest(const Selection& selection) const {
  std::uint32_t found = shm::kNoEntry;
  home_->inbox().index().for_each([&](const shm::IndexNode& node) {
    const std::uint32_t at = node.entry();
    const bool better = found == shm::kNoEntry || is_older(at, found, selection);
    if (better && matches(at, selection)) found = at;
    return true;
  });
  return found;
}

std::uint32_t Receiver::take_selected(const Selection& selection) {
  shm::Inbox& inbox = home_->inbox();
  const auto fits = [&](const shm::Entry& found) {
    return matches(static_cast<std::uint32_t>(&found - &entry(0)), selection);
  };
  for (;;) {
    const std::uint32_t at = selection.oldest_first ? oldest(selection) : inbox.find(fits);
    if (at == shm::kNoEntry) return at;
    inbox.take(at);
    if (!drop_unfit(at)) return at;
  }
}

std::vector<std::uint32_t> Receiver::list(const Selection& selection) const {
  std::vector<shm::IndexNode> nodes;
  home_->inbox().index().for_each([&](const shm::IndexNode& node) {
    const std::uint32_t at = node.entry();
    if (!has_expired(entry(at)) && matches(at, selection)) nodes.push_back(node);
    return true;
  });
  std::sort(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) {
    return selection.oldest_first ? is_older(a.entry(), b.entry(), selection) : a.before(b);
  });
  std::vector<std::uint32_t> entries;
  for (const shm::IndexNode& node : nodes) entries.push_back(node.entry());
  return entries;
}

}  // namespace beeline::receive
