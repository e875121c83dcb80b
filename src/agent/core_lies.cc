// What peers have written that cannot be: where it is looked for, and who is told.

#include "src/agent/core.h"
#include "src/agent/ended.h"

namespace beeline {

namespace {

// Between attempts to tell a coordinator that does not read.
constexpr std::int64_t kReportPause = 100'000'000;

}  // namespace

// Looks for lies where no message would show them.
void AgentCore::audit_links() {
  receiver_->audit().look_at_living();
  quarantine_false_receipts();
}

// A link that was never added. Of it nothing is kept but what is to be said; it waits once, however
// often the link was announced.
void AgentCore::refuse(const control::AnnouncedLink& announced, std::string what) {
  std::erase_if(refused_, [&](const control::ReportRequest& other) {
    return other.incarnation == announced.incarnation && other.serial == announced.serial;
  });
  refused_.push_back(
      {std::move(what), announced.pid, announced.incarnation, announced.serial, true});
  // Nobody will say of its owner's life that its link has faded.
  Ended(*this).forget_life(announced.pid, announced.incarnation);
}

// What a coordinator has not heard when it is restarted is refused anew: the next one announces the
// links again.
void AgentCore::report_refused() {
  while (!refused_.empty() && next_report_ns_ == 0) {
    const auto told = client_.report(refused_.front());
    if (!told && told.error().code == ErrorCode::kFull) {
      next_report_ns_ = os::monotonic_ns() + kReportPause;
    } else {
      refused_.erase(refused_.begin());
    }
  }
}

void AgentCore::report_quarantined() {
  if (client_.closed() || os::monotonic_ns() < next_report_ns_) return;
  next_report_ns_ = 0;
  report_refused();
  if (next_report_ns_ != 0 || !receiver_->links().has_quarantined()) return;
  for (const auto& link : receiver_->links().all()) {
    if (!link->quarantined() || link->reported) continue;
    link->reported =
        client_.report({link->fault, link->owner_pid, link->key.incarnation, link->key.serial})
            .has_value();
    receiver_->links().owners().call(*link);
    if (link->reported) continue;
    next_report_ns_ = os::monotonic_ns() + kReportPause;
    return;
  }
}

// Receipts lie in a link of their writer's.
void AgentCore::quarantine_false_receipts() {
  const auto lock = lock_send();
  for (const auto& own : out_) {
    if (own == nullptr || !own->was_lied_to()) continue;
    receiver_->links().index().each_of(own->peer(), [&](receive::InLink& link) {
      if (own->receipts.opposite != &link.view || link.fading) return;
      receiver_->quarantine(link, "a receipt for what was not sent to it");
    });
  }
}

// One of our own links: its reader has found in it what cannot be.
void AgentCore::handle(const control::EndedAnnouncement& ended) {
  const auto lock = lock_send();
  send::OutLink* own = out_link(ended.pid);
  if (own != nullptr && own->key() == shm::LinkKey{ended.incarnation, ended.serial}) {
    own->may_send = false;
    own->ended = true;
    own->fault = ended.what;
  }
}

}  // namespace beeline
