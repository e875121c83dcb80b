#include "src/agent/reports.h"

#include <algorithm>
#include <utility>

#include "src/agent/ended.h"

namespace beeline {

namespace {

// Between attempts to tell a coordinator that does not read.
constexpr std::int64_t kReportPause = 100'000'000;

}  // namespace

// Looks for lies where no message would show them.
void Reports::audit_links() {
  receiver_.audit().look_at_living();
  quarantine_false_receipts();
}

// A link that was never added. Nothing of it is kept but the report; it waits once, however
// often the link was announced.
void Reports::refuse(const control::AnnouncedLink& announced, std::string what) {
  std::erase_if(refused_, [&](const control::ReportRequest& other) {
    return other.incarnation == announced.incarnation && other.serial == announced.serial;
  });
  refused_.push_back(
      {std::move(what), announced.pid, announced.incarnation, announced.serial, true});
  // Nobody will say of its owner's life that its link has faded.
  ended_.forget_life(announced.pid, announced.incarnation);
}

void Reports::note_waiting(Pid owner, const shm::LinkKey& key, std::string why) {
  refused_.push_back({std::move(why), owner, key.incarnation, key.serial, /*unread=*/false,
                      /*waits=*/true});
}

// Reports that a coordinator has not read when it is restarted are made anew: the next one
// announces the links again.
void Reports::report_refused() {
  while (!refused_.empty() && !is_paused()) {
    const auto told = client_.report(refused_.front());
    if (!told && told.error().code == ErrorCode::kFull) {
      deadlines_.report = os::monotonic_ns() + kReportPause;
    } else {
      refused_.erase(refused_.begin());
    }
  }
}

void Reports::report_quarantined() {
  if (client_.closed() || (is_paused() && os::monotonic_ns() < deadlines_.report)) return;
  deadlines_.report = Deadlines::kNever;
  report_refused();
  if (is_paused() || !receiver_.links().has_quarantined()) return;
  for (const auto& link : receiver_.links().all()) {
    PeerRecord& owner = links_.records().of(*link);
    if (!link->quarantined() || owner.is_reported()) continue;
    const auto told = client_.report(
        {link->fault(), link->owner_pid(), link->key().incarnation, link->key().serial});
    if (told) owner.note_reported();
    receiver_.links().owners().call(*link);
    if (told) continue;
    deadlines_.report = os::monotonic_ns() + kReportPause;
    return;
  }
}

// Receipts lie in a link of their writer's.
void Reports::quarantine_false_receipts() {
  const auto lock = life_.lock_send();
  for (const auto& own : links_.all()) {
    if (own == nullptr || !own->was_lied_to()) continue;
    receiver_.links().index().each_of(own->peer(), [&](receive::InLink& link) {
      if (own->receipts.opposite != &link.view() || link.is_fading()) return;
      receiver_.quarantine(link, "a receipt for what was not sent to it");
    });
  }
}

}  // namespace beeline
