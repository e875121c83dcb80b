#include "src/control/history.h"

#include <unistd.h>
#include <algorithm>

#include <fmt/format.h>

#include "src/control/foreign_check.h"
#include "src/control/identity.h"
#include "src/control/records.h"

namespace beeline::control {
namespace {

bool has_ended(Hive& hive, Pid pid, shm::Incarnation incarnation) {
  const Agent* agent = hive.registry.agent(pid);
  const Life* life = agent == nullptr ? nullptr : agent->life(incarnation);
  return life == nullptr || life->ended;
}

// Drops the oldest history of a life that has ended. False: there is none.
bool drop_oldest(Hive& hive) {
  Histories& histories = hive.registry.histories();
  const auto oldest = std::find_if(histories.begin(), histories.end(), [&](const auto& each) {
    return has_ended(hive, each.second, each.first);
  });
  if (oldest == histories.end()) return false;
  hive.keeper.drop(history_key(oldest->second, oldest->first));
  histories.erase(oldest);
  return true;
}

Result<void> make_room(Hive& hive) {
  // Links and lives come first: a history takes none of the descriptors that are meant for them.
  const auto is_full = [&] {
    return hive.registry.histories().size() >= kMaxHistories ||
           hive.keeper.held() >= room_for_links();
  };
  while (is_full()) {
    if (drop_oldest(hive)) continue;
    return fail(ErrorCode::kFull,
                fmt::format("the keeper holds {} histories of running agents, the limit is {}, and "
                            "{} file descriptors: this agent's is not kept",
                            hive.registry.histories().size(), kMaxHistories, hive.keeper.held()));
  }
  return {};
}

// All agents look at the word, those that sleep too.
void ring_all(Hive& hive) {
  for (const auto& [pid, agent] : hive.registry.agents()) {
    if (const Life* life = agent.living(); life != nullptr) hive.ring(*life);
  }
}

Result<void> set_level(Hive& hive, const Caller& caller, std::int32_t level) {
  if (!is_trusted(caller)) {
    return fail(ErrorCode::kDenied,
                fmt::format("uid {} may not switch the history of a hive of uid {}", caller.uid,
                            ::geteuid()));
  }
  if (level < 0 || level > static_cast<std::int32_t>(shm::HistoryLevel::kPreviews)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("history level {}: it is 0 (off), 1 (headers) or 2 (headers and "
                            "previews)",
                            level));
  }
  const auto number = static_cast<std::uint64_t>(level);
  if (auto kept = hive.keeper.keep(kHistoryLevelKey, build_number(number), {}); !kept) return kept;
  hive.directory.set_history(static_cast<shm::HistoryLevel>(number));
  ring_all(hive);
  hive.log.info("history", "level={} process={} uid={}", level, caller.os_pid, caller.uid);
  return {};
}

}  // namespace

Result<void> ask_history(Hive& hive, const Caller& caller, std::uint64_t seq,
                         const HistoryRequest& request) {
  if (request.level != -1) {
    if (auto set = set_level(hive, caller, request.level); !set) return set;
  }
  HistoryAnswer answer;
  answer.level = static_cast<std::int32_t>(hive.directory.view().history());
  answer.kept = hive.registry.histories().size();
  answer.most = kMaxHistories;
  hive.answer(caller, seq, answer);
  return {};
}

Result<void> keep_history(Hive& hive, const Caller& caller, std::uint64_t seq,
                          std::vector<os::UniqueFd> fds) {
  if (fds.size() != 1) {
    return fail(ErrorCode::kInvalid,
                fmt::format("one history is needed, found {} descriptors", fds.size()));
  }
  if (auto good = check_history(fds[0].get(), caller.pid, caller.incarnation); !good) return good;
  if (!hive.registry.histories().contains(caller.incarnation)) {
    if (auto room = make_room(hive); !room) return room;
  }
  const int fd = fds[0].get();
  if (auto kept = hive.keeper.keep(history_key(caller.pid, caller.incarnation), "{}", {&fd, 1});
      !kept) {
    return kept;
  }
  hive.registry.histories().insert_or_assign(caller.incarnation, caller.pid);
  hive.answer(caller, seq, OkAnswer{});
  return {};
}

void restore_histories(Hive& hive, const KeptTable& table) {
  hive.directory.set_history(shm::history_level(kept_number(table, kHistoryLevelKey)));
  for (const auto& [key, kept] : table) {
    const auto life = parse_history_key(key);
    if (!life) continue;
    if (kept.fds.size() == 1) {
      hive.registry.histories().insert_or_assign(life->second, life->first);
    } else {
      hive.keeper.drop(key);
    }
  }
}

}  // namespace beeline::control
