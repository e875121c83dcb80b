#include "tools/beeline/accounts.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "shm/verify.h"
#include "src/control/agent_info.h"
#include "src/control/hive_paths.h"
#include "src/look/keeper_sight.h"
#include "src/look/oldest.h"
#include "src/look/segment_name.h"
#include "src/look/segments.h"
#include "src/look/source.h"
#include "src/os/clock.h"
#include "src/wake/waiter.h"

namespace beeline::cli {
namespace {

using look::Segment;
using look::Source;

constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks
constexpr auto kNotFound =
    "its home or a link to it is not among the segments of the keeper, or is damaged; see "
    "`shm-dump --verify`";

using Key = std::pair<shm::Incarnation, std::uint32_t>;  // of a link: incarnation, serial
using Positions = std::array<std::uint64_t, shm::kLanes>;

// How far a link was taken.
struct Taken {
  Positions cursors{};
  std::int64_t empty_until_ns = 0;  // no message in its lanes was sent before this time
};

// The home that counts: the one of the newest incarnation that has finished its takeover.
struct Home {
  shm::Incarnation incarnation;
  shm::Balance balance;
  look::OldestEntries oldest;
  std::map<Key, Taken> rows;  // the rows that are open
};

// The messages that the owner of a link has published.
struct Published {
  Positions tails{};
  std::array<look::LaneTimes, shm::kLanes> times;
};
using PublishedLinks = std::map<Key, Published>;

// The figures of one look. Each segment is released before the next one is read, because a hive
// has many.
struct Look {
  std::map<Pid, PublishedLinks> links;  // to each agent
  std::map<Pid, Home> homes;
  bool whole = true;  // no segment was overlooked
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;
  std::map<Pid, std::uint64_t> bytes_of;
};

void add_link(const Segment& segment, Look& look) {
  if (!segment.is_sound(shm::SegmentKind::kLink)) return;
  const shm::LinkContract contract = shm::contract_of(segment.view());
  const shm::LinkLayout layout(contract);
  Published published;
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    const auto i = static_cast<std::size_t>(lane);
    const shm::LaneShape shape = shm::lane_shape(contract, layout, lane);
    published.tails[i] = shm::tail_of(segment.view(), shape);
    published.times[i] = look::LaneTimes(segment.view(), shape, published.tails[i]);
  }
  look.links[segment.peer_pid()][{segment.incarnation(), segment.serial()}] = std::move(published);
}

void add_home(const Segment& segment, Look& look) {
  if (!segment.is_sound(shm::SegmentKind::kHome) || !shm::is_ready(segment.view())) return;
  Home& home = look.homes[segment.owner_pid()];
  if (home.incarnation >= segment.incarnation()) return;
  const shm::ByteView view = segment.view();
  const shm::HomeShape shape(shm::capacity_of(view));
  home = {segment.incarnation(),
          shm::balance_of(view, shape),
          look::oldest_entries(view, shape, segment.now_ns),
          {}};
  const std::uint64_t retired = view.u64(shape.control(offsetof(shm::HomeControl, retired)));
  for (shm::RowIndex i(0); i.value() < shape.rows_allocated(view); ++i) {
    const std::uint64_t row = shape.row_at(i);
    const std::uint64_t closed_at = view.u64(row + offsetof(shm::InRow, retired));
    // The agent was killed while it closed this row: its messages are among the retired ones
    // already.
    if (view.u64(row) == 0 || (retired != 0 && closed_at == retired)) continue;
    home.rows[{shm::Incarnation(view.u64(row)), view.u32(row + offsetof(shm::InRow, serial))}] = {
        {shape.cursor(view, i, shm::Lane::kNormal), shape.cursor(view, i, shm::Lane::kUrgent)},
        look::empty_until(view, shape, i, segment.now_ns)};
  }
}

Result<void> add(const Source& source, shm::SegmentKind kind, Look& look) {
  const auto segment = look::load_segment(source);
  if (segment) {
    kind == shm::SegmentKind::kLink ? add_link(*segment, look) : add_home(*segment, look);
    return {};
  }
  const ErrorCode code = segment.error().code;
  if (code == ErrorCode::kClosed) look.whole = false;
  // A memfd that only bears the name of a segment counts for no agent.
  const bool harmless = code == ErrorCode::kClosed || code == ErrorCode::kBadSegment;
  return harmless ? Result<void>() : tl::unexpected(segment.error());
}

bool same_segments(const std::vector<Source>& a, const std::vector<Source>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Source& x, const Source& y) {
    return x.device == y.device && x.inode == y.inode;
  });
}

// Read links before homes: a message that moves from a lane into the inbox meanwhile is then
// counted once.
Result<Look> look_at_segments(std::string_view hive) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  const auto sources = look::find_segments(hive);
  if (!sources) return tl::unexpected(sources.error());
  Look look;
  look.segments = sources->size();
  for (const auto kind : {shm::SegmentKind::kLink, shm::SegmentKind::kHome}) {
    for (const Source& source : *sources) {
      const auto name = look::parse_segment_name(source.name, paths->hive);
      if (!name || name->kind != kind) continue;
      if (auto added = add(source, kind, look); !added) return tl::unexpected(added.error());
    }
  }
  for (const Source& source : *sources) {
    struct stat found {};
    if (::stat(source.path.c_str(), &found) == 0 && found.st_ino == source.inode) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(found.st_blocks) * kBlockBytes;
      look.segment_bytes += bytes;
      const auto name = look::parse_segment_name(source.name, paths->hive);
      // The coordinator owns the directory.
      if (name) look.bytes_of[name->pid != 0 ? name->pid : control::kKingPid] += bytes;
    }
  }
  // The keeper moves a record that it holds to new descriptors. A search during the move may come
  // too late for the old descriptors and too early for the new ones.
  const auto again = look::find_segments(hive);
  if (!again) return tl::unexpected(again.error());
  look.whole = look.whole && same_segments(*sources, *again);
  return look;
}

// `in_links`: the links that their reader must not forget yet. If such a link has no row, none of
// its messages were taken. Any other link without a row is among the retired ones, or was refused.
void add_lanes(const PublishedLinks& links, const std::map<Key, Taken>& rows,
               const std::vector<shm::LinkKey>& in_links, std::int64_t now_ns, Account& account) {
  for (const auto& [key, published] : links) {
    const auto row = rows.find(key);
    const shm::LinkKey wanted{key.first, key.second};
    if (row == rows.end() &&
        std::find(in_links.begin(), in_links.end(), wanted) == in_links.end()) {
      continue;
    }
    const Taken taken = row == rows.end() ? Taken{} : row->second;
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      const std::uint64_t tail = published.tails[lane];
      account.accepted += tail;
      if (tail <= taken.cursors[lane]) continue;
      account.in_lanes += tail - taken.cursors[lane];
      const auto sent_ns = published.times[lane].oldest_from(taken.cursors[lane]);
      if (!sent_ns) continue;
      const std::int64_t earliest_ns = std::min(taken.empty_until_ns, now_ns);
      account.oldest_waiting_ns =
          look::older(account.oldest_waiting_ns, std::clamp(*sent_ns, earliest_ns, now_ns));
    }
  }
  for (const auto& [key, taken] : rows) {
    // During our look the reader closed the row and the coordinator dropped the link.
    if (!links.contains(key)) account.accepted += taken.cursors[0] + taken.cursors[1];
  }
}

Account account_of(const control::ListedAgent& agent, const Look& look,
                   const std::vector<shm::LinkKey>& in_links) {
  static const PublishedLinks kNone;
  static const Home kNoHome;
  const auto links = look.links.find(agent.pid);
  const auto known = look.homes.find(agent.pid);
  const Home& home = known == look.homes.end() ? kNoHome : known->second;
  Account account;
  account.pid = agent.pid;
  account.name = agent.name;
  account.state = control::state_of(agent);
  account.queued = home.balance.queued;
  account.tasks = home.balance.tasks;
  account.leased = home.balance.leased;
  account.done = home.balance.done;
  account.dead = home.balance.dead;
  account.purged = home.balance.purged;
  account.aside = home.oldest.aside;
  account.oldest_waiting_ns = home.oldest.waiting_ns;
  account.oldest_in_hand_ns = home.oldest.in_hand_ns;
  // A kill between the store that ends a message and the store of its counter leaves the counter
  // one behind. The successor counts that message as done, and so do we.
  const bool ended = agent.state != shm::AgentState::kRunning;
  if (ended && home.balance.drained - home.balance.accounted() == 1) ++account.done;
  account.accepted = home.balance.drained;
  for (const auto& [key, taken] : home.rows) {
    account.accepted -= taken.cursors[0] + taken.cursors[1];
  }
  add_lanes(links == look.links.end() ? kNone : links->second, home.rows, in_links,
            os::monotonic_ns(), account);
  return account;
}

// Whether the keeper holds a home of this agent, or is about to. An agent that was never ready has
// none.
bool keeps_home(const control::ListedAgent& agent) {
  const bool is_away =
      agent.state == shm::AgentState::kAway && agent.incarnation != shm::kNoIncarnation;
  return agent.state == shm::AgentState::kRunning || is_away;
}

// Whether the coordinator knows of a segment that the look has not found: the coordinator may not
// have handed it to the keeper yet.
bool has_overlooked(const control::ListedAgent& agent, const Look& look,
                    const std::vector<shm::LinkKey>& in_links) {
  const auto home = look.homes.find(agent.pid);
  if (keeps_home(agent) && home == look.homes.end()) return true;
  // This home belongs to an earlier incarnation, or to another hive of the same name.
  const bool runs = agent.state == shm::AgentState::kRunning;
  if (runs && home->second.incarnation != agent.incarnation) return true;
  const auto links = look.links.find(agent.pid);
  return std::any_of(in_links.begin(), in_links.end(), [&](const shm::LinkKey& key) {
    return links == look.links.end() || !links->second.contains({key.incarnation, key.serial});
  });
}

Account unreadable_account(const control::ListedAgent& agent, const std::string& reason) {
  Account account;
  account.pid = agent.pid;
  account.name = agent.name;
  account.state = control::state_of(agent);
  account.unreadable = reason;
  return account;
}

// Another look would not change the account.
bool is_settled(const Account& account) { return !account.is_readable() || account.balanced(); }

// Keeps the account of an earlier look if it adds up; otherwise the two looks show whether the
// account moves.
void compare(const std::map<Pid, Account>& before, Account& account) {
  const auto earlier = before.find(account.pid);
  if (earlier == before.end() || !earlier->second.is_readable()) return;
  if (earlier->second.balanced()) {
    account = earlier->second;
  } else if (account.is_readable() && !account.balanced()) {
    account.moving = earlier->second.moving;
    account.moving = account != earlier->second;
  }
}

// The accounts of one look. `before` holds the accounts of earlier looks; those that add up are
// kept. `reason`: why a missing segment cannot be read.
Result<std::map<Pid, Account>> look_again(control::Client& client, Look& look,
                                          const std::map<Pid, Account>& before,
                                          const std::string& reason) {
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  std::map<Pid, Account> now;
  for (const control::ListedAgent& agent : *agents) {
    if (agent.pid == control::kKingPid) continue;
    const bool has_home = look.homes.contains(agent.pid);
    const bool takes_mail = look.links.contains(agent.pid) && agent.state != shm::AgentState::kDead;
    if (!has_home && !takes_mail && !keeps_home(agent)) continue;
    // Ask after the copies were taken. The reader closes a row only after the coordinator has
    // recorded that its link may be forgotten. So if the coordinator still lists a link that has no
    // row, the home never knew that link.
    const auto in_links = client.links_to(agent.pid);
    if (!in_links) return tl::unexpected(in_links.error());
    const bool overlooked = has_overlooked(agent, look, *in_links);
    Account account =
        overlooked ? unreadable_account(agent, reason) : account_of(agent, look, *in_links);
    if (overlooked)
      look.whole = false;  // the segment may be on its way to the keeper, where no
                           // search finds it
    compare(before, account);
    now[agent.pid] = std::move(account);
  }
  return now;
}

}  // namespace

const Account* HiveAccounts::find(Pid pid) const noexcept {
  for (const Account& account : inboxes) {
    if (account.pid == pid) return &account;
  }
  return nullptr;
}

std::size_t HiveAccounts::unreadable() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(inboxes.begin(), inboxes.end(),
                    [](const Account& account) { return !account.is_readable(); }));
}

std::string HiveAccounts::why_unreadable() const {
  if (!hidden.empty()) return hidden;
  const auto first = std::find_if(inboxes.begin(), inboxes.end(),
                                  [](const Account& account) { return !account.is_readable(); });
  return first == inboxes.end() ? "" : first->unreadable;
}

HiveAccounts unreadable_accounts(const std::vector<control::ListedAgent>& agents,
                                 const std::string& reason) {
  HiveAccounts accounts;
  accounts.hidden = reason;
  for (const control::ListedAgent& agent : agents) {
    if (agent.pid == control::kKingPid || !keeps_home(agent)) continue;
    accounts.inboxes.push_back(unreadable_account(agent, reason));
  }
  return accounts;
}

Result<HiveAccounts> read_accounts(control::Client& client, std::string_view hive,
                                   const Patience& patience) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  HiveAccounts accounts;
  accounts.hidden = look::why_keeper_is_hidden(*paths);
  const std::string reason = accounts.hidden.empty() ? kNotFound : accounts.hidden;
  std::map<Pid, Account> inboxes;
  // A segment that is only missing gets the same patience.
  const Deadline until_whole =
      after(accounts.hidden.empty() ? patience.missing : std::chrono::nanoseconds(0));
  for (int round = 0, looks = 0; round < patience.looks; ++looks) {
    if (looks != 0) wake::nap(looks);
    auto look = look_at_segments(hive);
    if (!look) return tl::unexpected(look.error());
    auto now = look_again(client, *look, inboxes, reason);
    if (!now) return tl::unexpected(now.error());
    if (!look->whole && std::chrono::steady_clock::now() < until_whole) continue;
    ++round;
    inboxes = std::move(*now);
    accounts.segments = look->segments;
    accounts.segment_bytes = look->segment_bytes;
    accounts.bytes_of = std::move(look->bytes_of);
    if (std::all_of(inboxes.begin(), inboxes.end(),
                    [](const auto& each) { return is_settled(each.second); })) {
      break;
    }
  }
  for (auto& [pid, account] : inboxes) accounts.inboxes.push_back(std::move(account));
  return accounts;
}

}  // namespace beeline::cli
