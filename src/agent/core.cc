#include "src/agent/core.h"

#include "src/agent/inheritance.h"

namespace beeline {

Result<std::unique_ptr<AgentCore>> AgentCore::attach(const AttachOptions& options) {
  const std::int64_t deadline = os::monotonic_ns() + options.control_timeout.count();
  for (int round = 0;; ++round) {
    auto foundation = Foundation::lay(options);
    Error error = foundation ? Error() : foundation.error();
    if (foundation) {
      auto core = std::make_unique<AgentCore>(*foundation);
      const auto done = core->begin(foundation->attached);
      if (done) return core;
      (void)core->client_.detach({});
      error = done.error();
    }
    // The coordinator died meanwhile: what it knew of us ends with this attempt, the next one asks
    // its successor.
    if (error.code != ErrorCode::kClosed || os::monotonic_ns() >= deadline) {
      return tl::unexpected(std::move(error));
    }
    wake::nap(round);
  }
}

// A noun is given the others by reference before they are built: no constructor calls any of them.
AgentCore::AgentCore(Foundation& from)
    : life_(std::move(from.identity), notices_),
      client_(std::move(from.client)),
      receiver_(std::move(from.home)),
      sleeper_(std::move(from.status), std::move(from.bells), from.policy,
               {life_, client_, receiver_, notices_, arrivals_, announcements_, reports_, leases_,
                debts_, intake_, turn_}),
      links_(life_, receiver_, from.send_rate),
      opener_({life_, directory_, client_, receiver_, links_, arrivals_, ended_, registration_,
               family_, sleeper_.deadlines()}),
      arrivals_({life_, directory_, client_, receiver_, sleeper_.bells(), links_, opener_, family_,
                 ended_, reports_, escalations_, sleeper_.deadlines()},
                from.receive_rate),
      ended_({life_, directory_, client_, receiver_, sleeper_.bells(), links_, arrivals_, family_,
              names_, questions_}),
      reports_(client_, life_, receiver_, links_, ended_, sleeper_.deadlines()),
      registration_(client_,
                    {life_, directory_, receiver_, links_, opener_, arrivals_, announcements_,
                     ended_, reports_, family_, escalations_, sleeper_, sleeper_.deadlines()}),
      announcements_({life_, client_, notices_, links_, arrivals_, ended_, letters_}),
      family_(life_, directory_, receiver_, links_, opener_, from.attached.parent_pid),
      names_(life_, directory_, client_, opener_, announcements_, registration_),
      sender_({*this, life_, client_, receiver_, links_, opener_, arrivals_, family_, leases_,
               sleeper_, turn_, sleeper_.deadlines()}),
      leases_({*this, life_, receiver_, sender_, sleeper_, debts_, intake_, turn_}, from.retries),
      debts_({life_, receiver_, links_, sender_, leases_, escalations_, sleeper_}),
      escalations_({life_, directory_, client_, receiver_, links_, opener_, registration_, family_,
                    sender_, leases_, debts_}),
      questions_({life_, directory_, client_, receiver_, links_, names_, registration_,
                  announcements_, sender_, leases_, debts_, sleeper_, intake_, turn_}),
      intake_({life_, receiver_, notices_, announcements_, leases_, sleeper_, turn_}),
      loops_{
          OpenQuestions({life_, announcements_, intake_, leases_, debts_, questions_, sleeper_}),
          Executions({life_, directory_, links_, questions_, loops_.questions, debts_}),
          TaskDesk({life_, receiver_, links_, leases_, sender_}),
          Serving(life_, receiver_, intake_, leases_, loops_.questions, loops_.tasks, escalations_),
          Errands({life_, directory_, client_, announcements_, opener_, names_}),
          Leaving({life_, client_, links_, debts_, escalations_, loops_.questions, registration_,
                   sleeper_}),
          UserLoop({life_, notices_, receiver_, links_, loops_.questions, loops_.errands,
                    loops_.leaving, sleeper_})},
      letters_(life_, client_, receiver_, sleeper_),
      turn_(*this, {life_, directory_, client_, receiver_, links_, sender_, leases_}) {
  registration_.adopt_directory(std::move(from.directory), from.attached.index);
  links_.make_path(directory_.view());
}

AgentCore::~AgentCore() {
  if (!life_.has_ended()) detach(Deadline::min());
}

Result<void> AgentCore::begin(control::Attached& attached) {
  if (arrivals_.limits_rates()) {
    if (auto done = sleeper_.make_timer(); !done) return done;
  }
  if (attached.predecessor != shm::kNoIncarnation) {
    Inheritance inheritance({life_, directory_, client_, receiver_, links_, opener_, arrivals_,
                             ended_, reports_, announcements_, registration_, sleeper_});
    if (auto done = inheritance.take_over(attached); !done) return done;
  } else {
    receiver_.home().set_ready();
    if (auto done = registration_.provide(true); !done) return done;
  }
  life_.begin();
  turn_.take();
  return {};
}

void AgentCore::take_turn() {
  if (life_.is_down()) return;
  announcements_.handle_some_announcements();
  if (client_.closed() && !life_.is_down()) registration_.resume_sometimes();
  turn_.recorder().look();
  if (!life_.still_counts()) return;  // an agent that only sends never drains
  arrivals_.ask_for_postponed();
  opener_.place_links();
  opener_.settle_openings();
  arrivals_.ask_for_owners();
  family_.watch_tree();
  ended_.watch_owners();
  links_.watch_peers();
  reports_.audit_links();
  reports_.report_quarantined();
  ended_.fade_links();
  leases_.release_retries();
  receiver_.bury_expired_sometimes();
  sleeper_.offer_room();
  sleeper_.publish_pressure();
  debts_.pay_debts();
}

Result<Peer> AgentCore::wait_for(std::string_view name, Deadline deadline,
                                 const WaitOptions& options) {
  return NameWait({life_, directory_, client_, announcements_, names_, sleeper_}, name, deadline)
      .run(options);
}

std::vector<Delivery> AgentCore::broadcast(const Group& group, std::span<const std::byte> payload,
                                           const SendOptions& options) {
  return Broadcast({life_, directory_, links_, opener_, family_, leases_, sender_, turn_})
      .run(group, payload, options);
}

InboxView AgentCore::inbox_view() {
  return InboxView({life_, receiver_, announcements_, intake_, sleeper_});
}

std::optional<Notice> AgentCore::next_notice() {
  turn_.take();
  return notices_.next();
}

void AgentCore::set_sleeping(bool sleeping) {
  if (!life_.is_forked()) sleeper_.set_sleeping(sleeping);
}

void AgentCore::become_a_copy() {
  life_.become_a_copy();
  sleeper_.status().hold_addresses_in_child();
  receiver_.home().memory().hold_addresses_in_child();
  links_.become_a_copy();
  turn_.recorder().become_a_copy();
}

}  // namespace beeline
