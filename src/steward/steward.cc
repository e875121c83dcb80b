#include "src/steward/steward.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/timer_fd.h"
#include "src/service/log.h"
#include "src/steward/settlement.h"

namespace beeline::steward {

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kTrimEveryNs = kSecondNs / 2;
constexpr std::int64_t kTidyEveryNs = 60 * kSecondNs;
constexpr std::int64_t kKingAgainNs = kSecondNs / 10;
constexpr std::int64_t kListAgainNs = kSecondNs / 10;
// The coordinator ends the hive 15 s after it has said so.
constexpr std::int64_t kEndPatienceNs = 11 * kSecondNs;
constexpr int kMostMessages = 64;

std::int64_t ns_of(Deadline deadline) {
  if (deadline == Deadline::max()) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
}

}  // namespace

Steward::Steward(Foundation foundation)
    : base_(std::move(foundation)),
      roster_(base_.store),
      letters_(base_.agent, alarms_),
      launcher_({base_.king, base_.keeper, family_, roster_, alarms_, base_.watch},
                base_.directory + "/output"),
      nursery_({base_.king, family_, roster_, launcher_, letters_, alarms_, base_.watch}, events()),
      kills_({family_, roster_, nursery_, letters_}),
      spawns_({family_, roster_, launcher_, nursery_, letters_, base_.store}),
      applier_({family_, roster_, nursery_, kills_, spawns_, letters_}, base_.hive),
      desk_({family_, roster_, launcher_, letters_, alarms_, kills_, spawns_, applier_},
            [this] { ask_for_list(); }) {
  base_.watch.add(base_.agent.fd(), Source::kAgent);
  base_.watch.add(base_.keeper.fd(), Source::kKeeper);
  base_.watch.add(base_.timer.get(), Source::kTimer);
  alarms_.set(Duty::kTrim, 0, os::monotonic_ns() + kTrimEveryNs);
  alarms_.set(Duty::kTidy, 0, os::monotonic_ns() + kTidyEveryNs);
}

Nursery::Events Steward::events() {
  return {[this](Child& child) {
            spawns_.hear_ready(child);
            applier_.hear_ready(child);
          },
          [this](Child& child, const Error& error) {
            spawns_.hear_failed(child, error);
            applier_.hear_failed(child, error);
            desk_.hear_end(child);
            kills_.hear_end(child.id);
          },
          [this](Child& child) {
            desk_.hear_end(child);
            applier_.hear_end(child);
            kills_.hear_end(child.id);
          },
          [this](Child& child) { desk_.hear_restart(child); }};
}

Result<void> Steward::settle() {
  auto agents = base_.agent.children(/*recursive=*/true);
  if (!agents) return tl::unexpected(std::move(agents.error()));
  auto self = base_.agent.info();
  if (!self) return tl::unexpected(std::move(self.error()));
  agents->push_back(std::move(*self));
  family_.replace(*agents);
  Settlement settlement({base_.king, base_.keeper, base_.store, family_, roster_, nursery_});
  if (auto settled = settlement.run(); !settled) return settled;
  find_ready();
  base_.keeper.say_ready();
  return {};
}

void Steward::find_ready() {
  for (const Child* const child : roster_.all()) {
    const Member* const member = family_.find(child->pid);
    if (child->phase != Phase::kStarting || member == nullptr) continue;
    // A process that attaches is in the list before it is ready. If it ends then, the next child of
    // this name gets its PID.
    const bool is_ready = child->restarts == 0 ? member->was_ready : member->has_process();
    if (is_ready) nursery_.hear_ready(child->pid);
  }
}

void Steward::run() {
  while (!is_over_) turn();
}

void Steward::turn() {
  hear_king();
  hear_keeper();
  const bool took = take_messages();
  letters_.run();
  hear_alarms();
  const Readiness found = base_.agent.loop().poll();
  if (found.ended) is_over_ = true;
  if (is_over_) return;
  hear_list();
  hear_late_exits();
  while (base_.agent.next_notice()) {
  }
  const bool has_more = found.peers != 0 || found.lists != 0 || (took && found.messages != 0);
  if (has_more) return;
  wait(found.messages != 0 ? after(std::chrono::milliseconds(1)) : found.next);
}

void Steward::wait(Deadline agent_wants) {
  const std::int64_t agent_ns = ns_of(agent_wants);
  std::int64_t at = alarms_.next();
  if (agent_ns != 0 && (at == 0 || agent_ns < at)) at = std::max<std::int64_t>(agent_ns, 1);
  if (at != timer_at_ns_) os::set_timer(base_.timer.get(), at);
  timer_at_ns_ = at;
  const auto events = base_.watch.wait();
  // A child that has attached and ended at once was ready first.
  hear_king();
  for (const Watch::Event& event : events) hear(event);
}

void Steward::hear(const Watch::Event& event) {
  switch (event.source) {
    case Source::kLink:
      nursery_.hear_link(event.number);
      break;
    case Source::kProcess:
      // The descriptor stays readable.
      if (!is_blind()) nursery_.hear_process(event.number);
      break;
    case Source::kTimer:
      // A past time stays readable until the timer is set anew.
      timer_at_ns_ = -1;
      break;
    case Source::kAgent:
    case Source::kKing:
    case Source::kKeeper:
      break;
  }
}

void Steward::hear_king() {
  bool was_missed = false;
  while (const auto event = base_.king.next()) {
    was_missed |= event->kind == LifeEvent::Kind::kMissed;
    hear(*event);
  }
  if (const int fd = base_.king.fd(); fd != king_fd_ || was_missed) {
    base_.watch.remove(king_fd_);
    if (fd >= 0) base_.watch.add(fd, Source::kKing);
    king_fd_ = fd;
  }
  if (king_fd_ < 0) alarms_.set(Duty::kKing, 0, os::monotonic_ns() + kKingAgainNs);
}

void Steward::hear(const LifeEvent& event) {
  family_.follow(event);
  switch (event.kind) {
    case LifeEvent::Kind::kReady:
      nursery_.hear_ready(event.pid);
      break;
    case LifeEvent::Kind::kEscalated:
      service::log_warn("escalation",
                        fmt::format("from {} (PID {}): {}", event.name, event.pid, event.text));
      break;
    case LifeEvent::Kind::kEnding:
      begin_end(/*has_keeper=*/true);
      break;
    case LifeEvent::Kind::kMissed:
      has_missed_ = true;
      covers_miss_ = false;
      ask_for_list();
      break;
    case LifeEvent::Kind::kDied:
    case LifeEvent::Kind::kRemoved:
      break;
  }
}

// While the coordinator is away nobody can tell if a child was ready before its end. At the end of
// the hive nobody asks.
bool Steward::is_blind() const { return !is_ending_ && (king_fd_ < 0 || has_missed_); }

void Steward::hear_late_exits() {
  if (is_blind()) return;
  for (const auto& [os_pid, status] : std::exchange(late_exits_, {})) {
    Child* const child = roster_.find_process(os_pid);
    if (child != nullptr && child->is_adopted) nursery_.hear_exit(*child, status);
  }
}

void Steward::hear_keeper() {
  for (;;) {
    auto word = base_.keeper.next();
    if (!word) {
      if (word.error().code != ErrorCode::kClosed) service::log_warn("keeper", word.error().text);
      if (word.error().code == ErrorCode::kClosed && !is_ending_) {
        base_.watch.remove(base_.keeper.fd());
        begin_end(/*has_keeper=*/false);
      }
      return;
    }
    if (!*word) return;
    if ((*word)->kind != KeeperLine::Word::Kind::kExited) continue;
    Child* const child = roster_.find_process((*word)->os_pid);
    if (child != nullptr && child->is_adopted) {
      late_exits_.emplace_back((*word)->os_pid, (*word)->status);
    } else if (child == nullptr) {
      base_.keeper.forget((*word)->os_pid);
    }
  }
}

bool Steward::take_messages() {
  int taken = 0;
  while (taken < kMostMessages) {
    auto message = base_.agent.try_receive();
    if (!message) break;
    ++taken;
    // The parent that a spawn names may have attached a moment ago.
    if (message->type() == kSpawnRequest) hear_king();
    desk_.take(std::move(*message));
  }
  return taken != 0;
}

void Steward::ask_for_list() {
  if (list_call_) {
    is_list_old_ = true;
    return;
  }
  const auto call = base_.agent.loop().list_agents();
  if (!call) return lack_list(call.error());
  list_call_ = *call;
  covers_miss_ = true;
  family_.expect_list();
}

void Steward::lack_list(const Error& error) {
  service::log_warn("no_list", error.text);
  alarms_.set(Duty::kList, 0, os::monotonic_ns() + kListAgainNs);
}

void Steward::hear_list() {
  while (auto listed = base_.agent.loop().next_list()) {
    if (listed->call != list_call_) continue;
    list_call_.reset();
    if (listed->agents) {
      family_.replace(*listed->agents);
      if (std::exchange(covers_miss_, false) && std::exchange(has_missed_, false)) find_ready();
    } else {
      lack_list(listed->agents.error());
    }
    // The list may lack the agent for which another one was wanted.
    const bool is_old = std::exchange(is_list_old_, false);
    if (is_old && listed->agents) ask_for_list();
    desk_.go_on(is_old || !listed->agents);
  }
}

void Steward::hear_alarms() {
  const std::int64_t now = os::monotonic_ns();
  for (const auto& [duty, number] : alarms_.take_due(now)) {
    switch (duty) {
      case Duty::kWait:
        desk_.hear_wait_over(number);
        break;
      case Duty::kTrim:
        trim_outputs();
        break;
      case Duty::kTidy:
        tidy();
        break;
      case Duty::kEnd:
        kills_.hurry();
        break;
      case Duty::kList:
        ask_for_list();
        break;
      case Duty::kLetters:
      case Duty::kKing:
        break;  // each turn does so
      default:
        nursery_.hear_alarm(duty, number);
    }
  }
}

void Steward::begin_end(bool has_keeper) {
  if (is_ending_) return;
  is_ending_ = true;
  desk_.close();
  service::log_info("ending", "the hive ends, and all children with it");
  alarms_.set(Duty::kEnd, 0, os::monotonic_ns() + kEndPatienceNs);
  kills_.start(1, "hive ended", [this, has_keeper](const std::vector<Pid>&) {
    letters_.run();
    is_over_ = true;
    // A hive that has ended leaves nothing, and its keeper may be dead.
    std::error_code ignored;
    std::filesystem::remove_all(base_.directory, ignored);
    if (!has_keeper) return;
    if (auto ended = base_.king.end(); !ended) service::log_warn("end", ended.error().text);
  });
}

void Steward::trim_outputs() {
  bool has_any = false;
  for (const Child* const child : roster_.all()) {
    if (child->os_pid == 0) continue;
    has_any = true;
    (void)launcher_.log_of(*child).trim(child->spec.limits.output_bytes);
  }
  const std::int64_t pause = has_any ? kTrimEveryNs : kTidyEveryNs;
  alarms_.set(Duty::kTrim, 0, os::monotonic_ns() + pause);
}

void Steward::tidy() {
  for (const Child* const child : roster_.outdated(os::realtime_ns())) {
    launcher_.log_of(*child).remove();
    roster_.remove(child->id);
  }
  alarms_.set(Duty::kTidy, 0, os::monotonic_ns() + kTidyEveryNs);
}

}  // namespace beeline::steward
