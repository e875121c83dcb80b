#include "src/look/inbox.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "src/control/agent_info.h"
#include "src/control/hive_paths.h"
#include "src/look/inbox_reader.h"
#include "src/look/inbox_segments.h"
#include "src/look/keeper_sight.h"
#include "src/look/source.h"

namespace beeline {

std::string_view to_string(InboxPlace place) {
  switch (place) {
    case InboxPlace::kQueued:
      return "queued";
    case InboxPlace::kLane:
      return "lane";
    case InboxPlace::kTask:
      return "task";
    case InboxPlace::kAwaited:
      return "awaited";
    case InboxPlace::kStashed:
      return "stashed";
    case InboxPlace::kOrder:
      return "order";
    case InboxPlace::kUnwanted:
      return "unwanted";
    case InboxPlace::kLeased:
      return "leased";
    case InboxPlace::kDead:
      return "dead";
  }
  return "unknown";
}

namespace look {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{10};

// Whether it will be handed out, as far as one can know.
bool waits(const SeenMessage& message) {
  return (message.place == InboxPlace::kQueued || message.place == InboxPlace::kLane) &&
         message.reason.empty();
}

}  // namespace

Result<SeenInbox> read_inbox(control::Client& client, std::string_view hive, std::uint32_t pid) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  // If not empty, waiting for a segment of the keeper is in vain.
  const std::string hidden = why_keeper_is_hidden(*paths);
  const Deadline until_whole = after(kKeeperPatience);
  for (;; std::this_thread::sleep_for(kBetweenLooks)) {
    const bool is_last = pid == control::kKingPid || !hidden.empty() ||
                         std::chrono::steady_clock::now() > until_whole;
    const auto segments = InboxSegments::load(hive, pid);
    if (!segments) return tl::unexpected(segments.error());
    const Segment* home = segments->home();
    if (home == nullptr && (is_last || segments->has_damaged_home())) {
      return tl::unexpected(segments->why_no_home(hidden));
    }
    if (home == nullptr) continue;
    // Ask last. The reader closes a row only after the coordinator has recorded that its link may
    // be forgotten. So if the coordinator still lists a link that has no row, the home did not know
    // that link when it was copied.
    const auto in_links = client.links_to(pid);
    if (!in_links) return tl::unexpected(in_links.error());
    const bool is_whole = segments->has_all(*in_links);
    if (!is_whole && !hidden.empty()) return tl::unexpected(unreadable(pid, hidden));
    if (!is_last && !is_whole) continue;
    SeenInbox inbox;
    inbox.pid = pid;
    inbox.messages = InboxReader(segments->all(), *home, *in_links).read();
    inbox.length = static_cast<std::size_t>(
        std::count_if(inbox.messages.begin(), inbox.messages.end(), waits));
    inbox.damaged_links = segments->damaged_links(*in_links);
    return inbox;
  }
}

}  // namespace look

Result<SeenInbox> look_into_inbox(std::string_view agent, const LookOptions& options) {
  auto client = control::Client::connect(
      {.hive = options.hive, .start = false, .deadline = options.control_timeout});
  if (!client) return tl::unexpected(client.error());
  const auto listed = client->list_all();
  if (!listed) return tl::unexpected(listed.error());
  const std::vector<AgentInfo> all = control::infos_of(*listed);
  const AgentInfo* found = find_agent(all, agent);
  if (found == nullptr || found->state == State::kDead) {
    return tl::unexpected(control::nobody_named(agent, client->hive(), client->directory()));
  }
  auto inbox = look::read_inbox(*client, options.hive, found->pid);
  if (inbox) inbox->name = found->name;
  return inbox;
}

}  // namespace beeline
