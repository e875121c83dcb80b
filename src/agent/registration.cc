#include "src/agent/registration.h"

#include <algorithm>
#include <utility>

#include "src/agent/announcements.h"
#include "src/agent/arrivals.h"
#include "src/agent/ended.h"
#include "src/agent/escalations.h"
#include "src/agent/family.h"
#include "src/agent/link_opener.h"
#include "src/agent/reports.h"
#include "src/agent/sleeper.h"
#include "src/control/roles.h"

namespace beeline {

namespace {

constexpr std::int64_t kFirstPause = 60'000'000;  // between attempts to reach a coordinator
constexpr std::int64_t kLongestPause = 1'000'000'000;
constexpr std::chrono::nanoseconds kPatience = std::chrono::milliseconds(20);
constexpr std::chrono::nanoseconds kUnaskedPatience = std::chrono::seconds(2);

}  // namespace

Registration::Registration(control::Client& client, const Needs& needs)
    : client_(client),
      life_(needs.life),
      directory_(needs.directory),
      receiver_(needs.receiver),
      links_(needs.links),
      opener_(needs.opener),
      arrivals_(needs.arrivals),
      announcements_(needs.announcements),
      ended_(needs.ended),
      reports_(needs.reports),
      family_(needs.family),
      escalations_(needs.escalations),
      sleeper_(needs.sleeper),
      deadlines_(needs.deadlines) {}

Result<void> Registration::provide(bool is_ready) {
  return client_.provide(receiver_.home().fd(), sleeper_.status().fd(), sleeper_.bells().own(),
                         is_ready);
}

void Registration::adopt_directory(segment::Foreign memory, std::uint32_t index) {
  const auto lock = life_.lock_send();
  links_.leave_directory();
  directory_.replace(std::move(memory), index);
  life_.watch(directory_.view().word(index));
  announcements_.watch(directory_.view().packets(index));
  links_.path().set_directory(directory_.view());
}

// While messages flow a coordinator that hangs must not hold them up: it is asked, and registered
// with once it has answered.
void Registration::resume_sometimes() {
  if (life_.has_ended() || os::monotonic_ns() < deadlines_.resume) return;
  if (resume(life_.waits_outside() ? std::chrono::nanoseconds::zero() : kPatience)) {
    resume_pause_ns_ = 0;
    return;
  }
  resume_pause_ns_ = std::clamp(resume_pause_ns_ * 2, kFirstPause, kLongestPause);
  deadlines_.resume = os::monotonic_ns() + resume_pause_ns_;
}

Result<void> Registration::resume_in_call() {
  return resume(is_silent_ ? kPatience : life_.options().control_timeout);
}

Result<void> Registration::resume(std::chrono::nanoseconds patience) {
  const auto left = [this] { return fail(ErrorCode::kClosed, life_.why_down()); };
  if (life_.has_ended() || life_.is_down()) return left();
  announcements_.handle_announcements();
  if (life_.is_down()) return left();
  const auto answered = client_.try_reconnect(patience);
  const bool silent = answered ? !*answered : answered.error().code == ErrorCode::kTimeout;
  is_silent_ |= silent && patience >= life_.options().control_timeout;
  if (!answered) return tl::unexpected(answered.error());
  if (!*answered) {
    return fail(ErrorCode::kTimeout,
                "the coordinator at " + client_.socket_path() + " has not answered yet; ask again");
  }
  is_silent_ = false;
  auto done = register_again();
  if (done) return done;
  // Somebody took over, or we were fenced.
  if (done.error().code == ErrorCode::kPeerDead) life_.end();
  client_.close();
  return life_.has_ended() ? left() : done;
}

Result<void> Registration::register_again() {
  control::ResumeRequest request;
  request.as.name = life_.name();
  request.as.role = control::role_from(life_.options().role).value_or(control::Role::kWorker);
  request.as.temporary = life_.options().temporary || life_.options().name.empty();
  request.pid = life_.pid();
  request.incarnation = life_.incarnation();
  request.parent_pid = family_.parent();
  request.ready = true;
  auto resumed = client_.resume(request, receiver_.home().fd(), sleeper_.status().fd(),
                                sleeper_.bells().own());
  if (!resumed) return tl::unexpected(resumed.error());
  family_.forget_tree();
  arrivals_.expect(resumed->in_links, resumed->all_known_of);
  reports_.forget_refused();  // announced again, and refused again
  // Nobody's place in the new directory is known before the coordinator has named it.
  auto directory = Directory::accept(std::move(resumed->directory));
  if (!directory) return tl::unexpected(directory.error());
  adopt_directory(std::move(*directory), resumed->index);
  const shm::Incarnation since = resumed->all_known_of;
  if (life_.incarnation() < since && std::exchange(hive_since_, since) != since) {
    ended_.end_old_king(since);
  }
  for (const auto& link : receiver_.links().all()) {
    links_.records().of(*link).begin_anew();
    link->stop_fading();  // asked again
    receiver_.links().owners().call(*link);
  }
  // Asked once more, so that the coordinator knows that we see what it says of the dead.
  for (LinkSlot slot(0); slot < links_.end_slot() && !client_.closed(); ++slot) {
    const auto is_dead = [&] {
      const auto lock = life_.lock_send();  // another thread's send may find out in this moment
      return links_.at(slot) != nullptr && links_.at(slot)->dead;
    };
    // The coordinator must not take a link to pid 1 of an earlier hive for one to its own.
    if (!is_dead() || links_.at(slot)->peer() == control::kKingPid) continue;
    (void)opener_.ask_open(*links_.at(slot), true);
    links_.refresh_peer(links_.at(slot)->peer());
  }
  opener_.begin_placing();
  escalations_.try_again_now();
  opener_.place_links();
  if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator went away again");
  return {};
}

// If the connection is lost, this agent tells the next coordinator: a name without a process behind
// it would stay taken for as long as this process lives.
void Registration::say_goodbye() {
  std::vector<std::uint32_t> empty = links_.unused();
  if (!client_.closed() && client_.detach(empty)) return;
  if (client_.closed() && resume(life_.options().control_timeout)) {
    (void)client_.detach(std::move(empty));
  }
}

Registration::Unasked::Unasked(Registration& registration)
    : registration_(registration), before_(std::exchange(registration.unasked_, true)) {
  registration_.client_.set_deadline(
      std::min(registration_.life_.options().control_timeout, kUnaskedPatience));
}

Registration::Unasked::~Unasked() {
  registration_.unasked_ = before_;
  if (!before_) {
    registration_.client_.set_deadline(registration_.life_.options().control_timeout);
  }
}

}  // namespace beeline
