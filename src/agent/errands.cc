#include "src/agent/errands.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/agent/announcements.h"
#include "src/agent/directory_tree.h"
#include "src/agent/link_opener.h"
#include "src/agent/names.h"
#include "src/control/agent_info.h"
#include "src/control/name_search.h"
#include "src/control/names.h"
#include "src/control/routing.h"
#include "src/os/clock.h"

namespace beeline {

namespace {

constexpr std::int64_t kLongestPause = 1'000'000'000;

// The coordinator is away or busy, and may have an answer later.
bool is_silence(ErrorCode code) {
  return code == ErrorCode::kNoCoordinator || code == ErrorCode::kTimeout ||
         code == ErrorCode::kClosed;
}

bool is_over(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

template <typename All>
bool erase_call(All& all, CallId call) {
  return std::erase_if(all, [call](const auto& each) { return each.call == call; }) != 0;
}

template <typename Each>
std::optional<Each> take_first(std::deque<Each>& all) {
  if (all.empty()) return std::nullopt;
  std::optional<Each> first(std::move(all.front()));
  all.pop_front();
  return first;
}

}  // namespace

void Errands::Pace::put_off() {
  next_ns = os::monotonic_ns() + pause_ns;
  pause_ns = std::min(2 * pause_ns, kLongestPause);
}

Result<void> Errands::may_start() const {
  if (with_.life.has_left()) return fail(ErrorCode::kClosed, with_.life.why_down());
  if (searches_.size() + queries_.size() + found_.size() + listed_.size() < kMostOpenCalls) {
    return {};
  }
  return fail(ErrorCode::kFull, std::to_string(kMostOpenCalls) +
                                    " calls are open, or their results were not fetched: fetch "
                                    "them with next_peer() and next_list()");
}

Result<CallId> Errands::find_peer(const To& to, Deadline deadline) {
  if (auto may = may_start(); !may) return tl::unexpected(may.error());
  Search search;
  search.deadline = deadline;
  if (to.is_name()) {
    if (auto target = control::check_target(to.name()); !target) {
      return tl::unexpected(target.error());
    }
    const auto number = control::number_from(to.name());
    if (number) search.pid = *number;
    if (!number) search.name = to.name();
  } else {
    search.pid = to.peer().pid;
  }
  search.call = ++last_call_;
  search.give_up_ns = os::monotonic_ns() + with_.life.options().control_timeout.count();
  searches_.push_back(std::move(search));
  return last_call_;
}

Result<CallId> Errands::list_agents() {
  if (auto may = may_start(); !may) return tl::unexpected(may.error());
  Query query;
  query.call = ++last_call_;
  query.give_up_ns = os::monotonic_ns() + with_.life.options().control_timeout.count();
  queries_.push_back(std::move(query));
  return last_call_;
}

void Errands::step() {
  std::erase_if(searches_, [this](Search& search) {
    auto result = look(search);
    if (result) found_.push_back({search.call, std::move(*result)});
    return result.has_value();
  });
  std::erase_if(queries_, [this](Query& query) {
    auto result = look(query);
    if (result) listed_.push_back({query.call, std::move(*result)});
    return result.has_value();
  });
}

Deadline Errands::next_step() const {
  std::int64_t next = Deadline::max().time_since_epoch().count();
  for (const Search& search : searches_) {
    next = std::min(next, search.asked ? search.late_ns : search.pace.next_ns);
    if (!search.asked && !is_over(search.deadline)) {
      next = std::min<std::int64_t>(next, search.deadline.time_since_epoch().count());
    }
  }
  for (const Query& query : queries_) {
    next = std::min(next, query.seq != 0 ? query.give_up_ns : query.pace.next_ns);
  }
  return Deadline(std::chrono::nanoseconds(next));
}

std::optional<FoundPeer> Errands::next_peer() { return take_first(found_); }
std::optional<Listed> Errands::next_list() { return take_first(listed_); }

bool Errands::forget(CallId call) {
  for (const Query& query : queries_) {
    if (query.call == call && query.seq != 0) with_.client.forget_answer(query.seq);
  }
  return erase_call(searches_, call) || erase_call(queries_, call) || erase_call(found_, call) ||
         erase_call(listed_, call);
}

// ---- Peers --------------------------------------------------------------------------------------

std::optional<Result<Peer>> Errands::look(Search& search) {
  if (with_.life.has_left()) return fail(ErrorCode::kClosed, with_.life.why_down());
  if (search.pid == 0 && !find_pid(search)) {
    if (!is_over(search.deadline)) return std::nullopt;
    return tl::unexpected(
        control::nobody_named(search.name, with_.life.hive(), with_.client.directory()));
  }
  return open(search);
}

// Looks when a name was heard of, when the tree has changed, and after a pause that grows: a
// coordinator that was restarted does not know of the wait.
bool Errands::find_pid(Search& search) {
  const std::uint64_t heard = with_.announcements.names_heard();
  const std::uint64_t epoch = with_.directory.view().epoch();
  const bool is_due = os::monotonic_ns() >= search.pace.next_ns;
  if (search.searched && heard == search.heard && epoch == search.epoch && !is_due) return false;
  search.heard = heard;
  search.epoch = epoch;
  search.searched = true;
  search.pid = with_.names.find_pid(search.name);
  if (search.pid != 0) return true;
  if (is_due || search.asked_heard != heard) {
    (void)with_.client.await_name({search.name, false});
    search.asked_heard = heard;
  }
  if (is_due) search.pace.put_off();
  return false;
}

std::optional<Result<Peer>> Errands::open(Search& search) {
  const Pid pid = search.pid;
  if (const auto peer = with_.opener.open_peer(pid)) {
    with_.opener.show_to_parent(pid);
    return *peer;
  }
  if (with_.opener.is_opening(pid)) {
    note_asked(search);
    return std::nullopt;
  }
  if (std::exchange(search.asked, false)) {
    auto refusal = with_.opener.take_refusal(pid);
    if (!refusal && with_.opener.serves_receipts_alone(pid)) refusal = why_denied(pid);
    if (refusal) return try_later(search, std::move(*refusal));
    // Another search has read why the link was refused, so this one asks again.
  }
  if (os::monotonic_ns() < search.retry_ns) return std::nullopt;
  auto begun = with_.opener.begin_open(pid);
  if (!begun) return try_later(search, std::move(begun.error()));
  note_asked(search);
  return std::nullopt;
}

void Errands::note_asked(Search& search) const {
  if (std::exchange(search.asked, true)) return;
  search.late_ns = os::monotonic_ns() + with_.life.options().control_timeout.count();
}

// A name may mean another agent later; a pid is never given out again.
std::optional<Result<Peer>> Errands::try_later(Search& search, Error error) {
  const bool is_gone = error.code == ErrorCode::kNoAgent || error.code == ErrorCode::kPeerDead;
  const bool may_come = is_gone && !search.name.empty() && !is_over(search.deadline);
  const bool is_early = is_gone && with_.opener.is_placing();  // it may register again yet
  const bool is_silent = is_silence(error.code) || error.code == ErrorCode::kFull || is_early;
  const bool may_answer = is_silent && !with_.life.has_left() &&
                          (os::monotonic_ns() < search.give_up_ns || !is_over(search.deadline));
  if (!may_come && !may_answer) return tl::unexpected(std::move(error));
  if (!search.name.empty()) search.pid = 0;
  search.pace.put_off();
  search.retry_ns = search.pace.next_ns;
  return std::nullopt;
}

// The link serves receipts alone.
Error Errands::why_denied(Pid pid) const {
  const auto verdict = control::route(read_tree(with_.directory.view()), with_.life.pid(), pid);
  if (!verdict.allowed) return {ErrorCode::kDenied, 0, verdict.text};
  return {ErrorCode::kDenied, 0,
          "agent " + std::to_string(with_.life.pid()) + " may not send to agent " +
              std::to_string(pid) +
              " in the link that this life has to it: it was ended, or opened for receipts alone; "
              "peer() says which"};
}

// ---- Lists --------------------------------------------------------------------------------------

std::optional<Result<std::vector<AgentInfo>>> Errands::look(Query& query) {
  if (with_.life.has_left()) return fail(ErrorCode::kClosed, with_.life.why_down());
  const bool is_late = os::monotonic_ns() >= query.give_up_ns;
  for (;;) {
    if (query.seq == 0) {
      if (os::monotonic_ns() < query.pace.next_ns && !is_late) return std::nullopt;
      const auto asked = with_.client.ask(control::ListRequest{query.from});
      if (!asked && is_late) return tl::unexpected(asked.error());
      if (!asked) query.pace.put_off();
      if (!asked) return std::nullopt;
      query.seq = *asked;
    }
    auto answer = with_.client.take_answer(query.seq);
    if (!answer && is_late) {
      with_.client.forget_answer(query.seq);
      return fail(ErrorCode::kTimeout,
                  "the coordinator has not listed the agents in time; ask again");
    }
    if (!answer) return std::nullopt;
    query.seq = 0;
    if (!*answer) {
      if (!is_silence(answer->error().code) || is_late) return tl::unexpected(answer->error());
      query.agents.clear();  // the next coordinator begins anew
      query.from = 0;
      query.pace.put_off();
      return std::nullopt;
    }
    auto* page = std::get_if<control::ListAnswer>(&(*answer)->answer);
    if (page == nullptr) {
      return fail(ErrorCode::kProtocol, "the coordinator answered with another kind of packet");
    }
    std::move(page->agents.begin(), page->agents.end(), std::back_inserter(query.agents));
    if (page->next <= static_cast<std::int64_t>(query.from)) {
      return control::infos_of(query.agents);
    }
    query.from = static_cast<std::uint32_t>(page->next);
  }
}

}  // namespace beeline
