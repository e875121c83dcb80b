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
#include "src/wake/waiter.h"
#include "tools/shm_dump/segment_name.h"
#include "tools/shm_dump/segments.h"
#include "tools/shm_dump/source.h"

namespace beeline::cli {
namespace {

using dump::Segment;
using dump::Source;

constexpr int kLooks = 16;                  // that found every segment
constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks

using Key = std::pair<std::uint64_t, std::uint32_t>;  // of a link: incarnation, serial
using Positions = std::array<std::uint64_t, shm::kLanes>;

/// The home that counts: of the newest life that has finished taking over.
struct Home {
  std::uint64_t incarnation = 0;
  shm::Balance balance;
  std::map<Key, Positions> cursors;  ///< of the rows that are open
};

/// The numbers of one look. The segments themselves are let go one by one: a hive has many.
struct Look {
  std::map<Pid, std::map<Key, Positions>> tails;  ///< of the links to each agent
  std::map<Pid, Home> homes;
  bool whole = true;  ///< no segment was overlooked
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;
};

void add_link(const Segment& segment, Look& look) {
  if (!segment.is_sound(shm::SegmentKind::kLink)) return;
  const shm::LinkContract contract = shm::contract_of(segment.view());
  const shm::LinkLayout layout(contract);
  Positions tails{};
  for (const shm::Lane lane : {shm::Lane::kNormal, shm::Lane::kUrgent}) {
    tails[static_cast<std::size_t>(lane)] =
        shm::tail_of(segment.view(), shm::lane_shape(contract, layout, lane));
  }
  look.tails[segment.peer_pid()][{segment.incarnation(), segment.serial()}] = tails;
}

void add_home(const Segment& segment, Look& look) {
  if (!segment.is_sound(shm::SegmentKind::kHome) || !shm::is_ready(segment.view())) return;
  Home& home = look.homes[segment.owner_pid()];
  if (home.incarnation >= segment.incarnation()) return;
  const shm::ByteView view = segment.view();
  const shm::HomeShape shape(shm::capacity_of(view));
  home = {segment.incarnation(), shm::balance_of(view, shape), {}};
  const std::uint64_t retired = view.u64(shape.control(offsetof(shm::HomeControl, retired)));
  for (std::uint32_t i = 0; i < shape.rows_allocated(view); ++i) {
    const std::uint64_t row = shape.row_at(i);
    const std::uint64_t closed_at = view.u64(row + offsetof(shm::InRow, retired));
    // Killed while it closed the row: what was taken from it is among the retired already.
    if (view.u64(row) == 0 || (retired != 0 && closed_at == retired)) continue;
    home.cursors[{view.u64(row), view.u32(row + offsetof(shm::InRow, serial))}] = {
        shape.cursor(view, i, shm::Lane::kNormal), shape.cursor(view, i, shm::Lane::kUrgent)};
  }
}

Result<void> add(const Source& source, shm::SegmentKind kind, Look& look) {
  const auto segment = dump::load_segment(source);
  if (segment) {
    kind == shm::SegmentKind::kLink ? add_link(*segment, look) : add_home(*segment, look);
    return {};
  }
  const ErrorCode code = segment.error().code;
  if (code == ErrorCode::kClosed) look.whole = false;
  // A memfd that has but the name of a segment counts for nobody.
  const bool harmless = code == ErrorCode::kClosed || code == ErrorCode::kBadSegment;
  return harmless ? Result<void>() : tl::unexpected(segment.error());
}

bool same_segments(const std::vector<Source>& a, const std::vector<Source>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Source& x, const Source& y) {
    return x.device == y.device && x.inode == y.inode;
  });
}

/// Links before homes: what moves from a lane into the inbox meanwhile is then seen once.
Result<Look> look_at_segments(std::string_view hive) {
  const auto paths = control::find_hive(hive);
  if (!paths) return tl::unexpected(paths.error());
  const auto sources = dump::find_segments(hive);
  if (!sources) return tl::unexpected(sources.error());
  Look look;
  look.segments = sources->size();
  for (const auto kind : {shm::SegmentKind::kLink, shm::SegmentKind::kHome}) {
    for (const Source& source : *sources) {
      const auto name = dump::parse_segment_name(source.name, paths->hive);
      if (!name || name->kind != kind) continue;
      if (auto added = add(source, kind, look); !added) return tl::unexpected(added.error());
    }
  }
  for (const Source& source : *sources) {
    struct stat found {};
    if (::stat(source.path.c_str(), &found) == 0 && found.st_ino == source.inode) {
      look.segment_bytes += static_cast<std::uint64_t>(found.st_blocks) * kBlockBytes;
    }
  }
  // The keeper takes a record that it holds anew under other descriptors: while it does so, a
  // search may come too late for the old ones and too early for the new ones.
  const auto again = dump::find_segments(hive);
  if (!again) return tl::unexpected(again.error());
  look.whole = look.whole && same_segments(*sources, *again);
  return look;
}

/// `in_links`: those that their reader may not forget yet. One of these without a row was not taken
/// from; any other one without a row is among the retired, or was refused.
void add_lanes(const std::map<Key, Positions>& tails, const std::map<Key, Positions>& cursors,
               const std::vector<shm::LinkKey>& in_links, Account& account) {
  for (const auto& [key, tail] : tails) {
    const auto row = cursors.find(key);
    const shm::LinkKey wanted{key.first, key.second};
    if (row == cursors.end() &&
        std::find(in_links.begin(), in_links.end(), wanted) == in_links.end()) {
      continue;
    }
    for (std::size_t lane = 0; lane < shm::kLanes; ++lane) {
      const std::uint64_t taken = row == cursors.end() ? 0 : row->second[lane];
      account.accepted += tail[lane];
      if (tail[lane] > taken) account.in_lanes += tail[lane] - taken;
    }
  }
  for (const auto& [key, taken] : cursors) {
    // Its reader has closed the row, and the coordinator dropped the link, while we looked.
    if (!tails.contains(key)) account.accepted += taken[0] + taken[1];
  }
}

Account account_of(const control::ListedAgent& agent, const Look& look,
                   const std::vector<shm::LinkKey>& in_links) {
  static const std::map<Key, Positions> kNone;
  static const Home kNoHome;
  const auto tails = look.tails.find(agent.pid);
  const auto known = look.homes.find(agent.pid);
  const Home& home = known == look.homes.end() ? kNoHome : known->second;
  Account account;
  account.pid = agent.pid;
  account.name = agent.name;
  account.state = control::state_of(agent);
  account.queued = home.balance.queued;
  account.leased = home.balance.leased;
  account.done = home.balance.done;
  account.dead = home.balance.dead;
  account.purged = home.balance.purged;
  // A kill between the store that ends a message and its counter leaves that one behind; the
  // successor counts it as done, and so do we.
  const bool ended = agent.state != shm::AgentState::kRunning;
  if (ended && home.balance.drained - home.balance.accounted() == 1) ++account.done;
  account.accepted = home.balance.drained;
  for (const auto& [key, taken] : home.cursors) account.accepted -= taken[0] + taken[1];
  add_lanes(tails == look.tails.end() ? kNone : tails->second, home.cursors, in_links, account);
  return account;
}

/// The keeper holds a home of it, or is about to: not of one that never was ready.
bool keeps_home(const control::ListedAgent& agent) {
  const bool is_away = agent.state == shm::AgentState::kAway && agent.incarnation != 0;
  return agent.state == shm::AgentState::kRunning || is_away;
}

/// Whether the coordinator knows of a segment that the look has not found: the keeper may not yet
/// have taken what it was handed.
bool has_overlooked(const control::ListedAgent& agent, const Look& look,
                    const std::vector<shm::LinkKey>& in_links) {
  if (keeps_home(agent) && !look.homes.contains(agent.pid)) return true;
  const auto tails = look.tails.find(agent.pid);
  return std::any_of(in_links.begin(), in_links.end(), [&](const shm::LinkKey& key) {
    return tails == look.tails.end() || !tails->second.contains({key.incarnation, key.serial});
  });
}

/// The accounts of one look; `before` holds those of earlier ones, and keeps what adds up.
Result<std::map<Pid, Account>> look_again(control::Client& client, Look& look,
                                          const std::map<Pid, Account>& before) {
  const auto agents = client.list_all();
  if (!agents) return tl::unexpected(agents.error());
  std::map<Pid, Account> now;
  for (const control::ListedAgent& agent : *agents) {
    if (agent.pid == control::kKingPid) continue;
    const bool has_home = look.homes.contains(agent.pid);
    const bool takes_mail = look.tails.contains(agent.pid) && agent.state != shm::AgentState::kDead;
    const bool runs = agent.state == shm::AgentState::kRunning;
    if (!has_home && !takes_mail && !runs) {
      look.whole = look.whole && !keeps_home(agent);  // on its way, where no search finds it
      continue;
    }
    // Asked after the copies were taken: a row is closed only after the coordinator has recorded
    // that its link may be forgotten, so a link without a row that may not be even now was not
    // known to the home.
    const auto in_links = client.links_to(agent.pid);
    if (!in_links) return tl::unexpected(in_links.error());
    if (has_overlooked(agent, look, *in_links)) look.whole = false;
    Account account = account_of(agent, look, *in_links);
    const auto earlier = before.find(agent.pid);
    if (earlier != before.end() && earlier->second.balanced()) {
      account = earlier->second;
    } else if (earlier != before.end() && !account.balanced()) {
      account.moving = earlier->second.moving;
      account.moving = account != earlier->second;
    }
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

Result<HiveAccounts> read_accounts(control::Client& client, std::string_view hive) {
  HiveAccounts accounts;
  std::map<Pid, Account> inboxes;
  // A segment that has its name alone is looked for as long.
  const Deadline until_whole = after(dump::kKeeperPatience);
  for (int round = 0, looks = 0; round < kLooks; ++looks) {
    if (looks != 0) wake::nap(looks);
    auto look = look_at_segments(hive);
    if (!look) return tl::unexpected(look.error());
    auto now = look_again(client, *look, inboxes);
    if (!now) return tl::unexpected(now.error());
    if (!look->whole && std::chrono::steady_clock::now() < until_whole) continue;
    ++round;
    inboxes = std::move(*now);
    accounts.segments = look->segments;
    accounts.segment_bytes = look->segment_bytes;
    if (std::all_of(inboxes.begin(), inboxes.end(),
                    [](const auto& each) { return each.second.balanced(); })) {
      break;
    }
  }
  for (auto& [pid, account] : inboxes) accounts.inboxes.push_back(std::move(account));
  return accounts;
}

}  // namespace beeline::cli
