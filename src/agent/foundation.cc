#include "src/agent/foundation.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "src/agent/directory.h"
#include "src/agent/fd_limit.h"
#include "src/control/hive_paths.h"
#include "src/control/names.h"
#include "src/control/roles.h"
#include "src/os/process.h"
#include "src/segment/names.h"

namespace beeline {

namespace {

Result<shm::HomeOptions> home_options(const AttachOptions& options) {
  shm::HomeOptions home;
  home.capacity = std::bit_ceil(
      std::clamp(options.inbox_capacity, shm::kMinInboxCapacity, shm::kMaxEntries + 1));
  home.max_attempts = options.max_attempts;
  home.max_hops = options.max_hops;
  switch (options.order) {
    case Order::kAged:
      home.policy = shm::OrderPolicy::kAged;
      home.rank_rule = shm::RankRule::kByRelation;
      break;
    case Order::kStrict:
      home.policy = shm::OrderPolicy::kStrict;
      break;
    case Order::kFifo:
      home.policy = shm::OrderPolicy::kFifo;
      break;
  }
  if (options.aging_factor == 0 && options.order == Order::kAged) {
    home.policy = shm::OrderPolicy::kStrict;
  } else if (options.order == Order::kAged) {
    const double step = 1e6 / options.aging_factor;
    if (!(step >= 1 && step <= 2e9)) {
      return fail(ErrorCode::kInvalid,
                  "attach: aging_factor is " + std::to_string(options.aging_factor) +
                      ", it must be 0 or lie between 0.0005 and 1000000 per second");
    }
    home.rank_step_us = std::llround(step);
  }
  if (const char* wrong = shm::home_error(home); wrong != nullptr) {
    return fail(ErrorCode::kInvalid,
                "attach: inbox_capacity is " + std::to_string(options.inbox_capacity) +
                    ", max_attempts " + std::to_string(options.max_attempts) + ": " + wrong);
  }
  return home;
}

Result<shm::LinkContract> contract_of(const AttachOptions& options, std::uint64_t hive_limit) {
  shm::LinkContract contract{options.normal_slots, options.urgent_slots, options.max_payload_bytes};
  if (contract.max_payload_bytes == 0) contract.max_payload_bytes = hive_limit;
  if (const char* wrong = shm::contract_error(contract); wrong != nullptr) {
    return fail(ErrorCode::kInvalid, "attach: normal_slots is " +
                                         std::to_string(contract.normal_slots) + ", urgent_slots " +
                                         std::to_string(contract.urgent_slots) +
                                         ", max_payload_bytes " +
                                         std::to_string(contract.max_payload_bytes) + ": " + wrong);
  }
  if (contract.max_payload_bytes > hive_limit) {
    return fail(ErrorCode::kInvalid,
                "attach: max_payload_bytes is " + std::to_string(contract.max_payload_bytes) +
                    ", the limit of the hive is " + std::to_string(hive_limit) +
                    "; `beeline up --max-payload` sets it");
  }
  return contract;
}

Result<limit::TokenBucket> bucket_of(const std::string& which, double rate, std::uint32_t burst) {
  if (rate == 0) return limit::TokenBucket();
  if (!(rate >= limit::kMinRate && rate <= limit::kMaxRate)) {
    return fail(ErrorCode::kInvalid, "attach: " + which + "_rate is " + std::to_string(rate) +
                                         ", it must be 0 (no limit) or lie between 0.001 and " +
                                         "1000000 messages per second");
  }
  if (burst > limit::kMaxBurst) {
    return fail(ErrorCode::kInvalid, "attach: " + which + "_burst is " + std::to_string(burst) +
                                         ", it may be 1000000 messages at most");
  }
  return limit::TokenBucket(rate, burst);
}

Result<wake::WaitPolicy> wait_policy(const AttachOptions& options) {
  wake::WaitPolicy policy;
  policy.spin_ns = options.spin.count();
  if (const std::string_view digits = os::variable("BEELINE_SPIN_US"); !digits.empty()) {
    constexpr std::int64_t kLongest = 1'000'000;
    std::int64_t spin_us = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), spin_us);
    if (error != std::errc() || end != digits.end() || spin_us < 0 || spin_us > kLongest) {
      return fail(ErrorCode::kInvalid, "attach: BEELINE_SPIN_US is \"" + std::string(digits) +
                                           "\", it must be 0 to 1000000 microseconds: set it to "
                                           "such a number, or unset it");
    }
    policy.spin_ns = spin_us * 1000;
  }
  if (options.wait == WaitMode::kSleep) policy.spin_ns = 0;
  policy.never_sleep = options.wait == WaitMode::kSpin;
  return policy;
}

// Everything that the options ask for, checked before anybody is asked.
struct Plan {
  shm::HomeOptions home;
  control::AttachRequest request;
};

Result<Plan> plan_of(const AttachOptions& options, Foundation& made) {
  const auto policy = wait_policy(options);
  if (!policy) return tl::unexpected(policy.error());
  made.policy = *policy;
  const auto home = home_options(options);
  if (!home) return tl::unexpected(home.error());
  if (auto text = control::check_utf8("role", options.role); !text) {
    return tl::unexpected(text.error());
  }
  const auto role = control::role_from(options.role);
  if (!role) {
    return fail(ErrorCode::kInvalid,
                "attach: role \"" + options.role + "\" is none of " + control::agent_roles());
  }
  // The largest limit that any hive can have: an option that no hive allows is refused at once.
  if (auto legal = contract_of(options, shm::kMaxMaxPayload); !legal) {
    return tl::unexpected(legal.error());
  }
  auto send_rate = bucket_of("send", options.send_rate, options.send_burst);
  if (!send_rate) return tl::unexpected(send_rate.error());
  made.send_rate = *send_rate;
  auto receive_rate = bucket_of("receive", options.receive_rate, options.receive_burst);
  if (!receive_rate) return tl::unexpected(receive_rate.error());
  made.receive_rate = *receive_rate;
  if (options.retry_pause.count() < 0 || options.retry_pause > std::chrono::hours(1)) {
    return fail(ErrorCode::kInvalid, "attach: retry_pause is " +
                                         std::to_string(options.retry_pause.count()) +
                                         " ns; it may be 0 to 1 h");
  }
  made.retries = Retries(options.retry_pause);
  Plan plan{*home, {}};
  plan.request.name = options.name;
  plan.request.parent = options.parent;
  plan.request.role = *role;
  plan.request.temporary = options.temporary || options.name.empty();
  if (options.name == control::kKingName) plan.request.secret = os::variable("BEELINE_KING");
  if (options.use_ticket) plan.request.ticket = os::variable("BEELINE_TICKET");
  return plan;
}

// Finds the hive, and becomes an agent of it.
Result<void> register_agent(const control::AttachRequest& request, Foundation& made) {
  const AttachOptions& options = made.identity.options;
  // A low limit shows as kSystem where it hurts.
  if (options.raise_fd_limit) (void)raise_fd_limit_for_peers();
  const auto paths = control::find_hive(options.hive);
  if (!paths) return tl::unexpected(paths.error());
  made.identity.hive = paths->hive;
  // A ticket is of a hive that runs: a new one would know nothing of it.
  const bool may_start = options.start_coordinator && request.ticket.empty();
  auto client = control::Client::connect({options.hive, may_start, options.control_timeout});
  if (!client) return tl::unexpected(client.error());
  made.client = std::move(*client);
  auto attached = made.client.attach(request);
  if (!attached) return tl::unexpected(attached.error());
  made.client.start_on_reconnect(false);
  made.attached = std::move(*attached);
  made.identity.pid = made.attached.pid;
  made.identity.name = made.attached.name;
  made.identity.incarnation = made.attached.incarnation;
  return {};
}

// Maps the directory, and creates what peers will map.
Result<void> make_segments(const shm::HomeOptions& options, Foundation& made) {
  Identity& own = made.identity;
  auto directory = Directory::accept(std::move(made.attached.directory));
  if (!directory) return tl::unexpected(directory.error());
  made.directory = std::move(*directory);
  const shm::DirectoryView view(made.directory.data());
  const auto contract = contract_of(own.options, view.control().max_payload_bytes);
  if (!contract) return tl::unexpected(contract.error());
  own.contract = *contract;
  auto home = receive::HomeMemory::create(own.hive, own.pid, own.incarnation, options);
  if (!home) return tl::unexpected(home.error());
  made.home = std::move(*home);
  auto status = segment::Owned::create(segment::status_name(own.hive, own.pid, own.incarnation),
                                       shm::kStatusBytes, shm::kStatusBytes);
  if (!status) return tl::unexpected(status.error());
  made.status = std::move(*status);
  auto& page = *reinterpret_cast<shm::StatusPage*>(made.status.data());
  shm::init_status(page, own.pid, own.incarnation);
  page.capacity.relaxed_store(options.capacity);
  auto bells = wake::BellSet::create();
  if (!bells) return tl::unexpected(bells.error());
  made.bells = std::move(*bells);
  return {};
}

}  // namespace

Result<Foundation> Foundation::lay(const AttachOptions& options) {
  Foundation made;
  made.identity.options = options;
  const auto plan = plan_of(options, made);
  if (!plan) return tl::unexpected(plan.error());
  if (auto done = register_agent(plan->request, made); !done) return tl::unexpected(done.error());
  if (auto done = make_segments(plan->home, made); !done) {
    // The next agent that attaches under this name need not wait until the coordinator sees that
    // the connection is gone.
    (void)made.client.detach({});
    return tl::unexpected(done.error());
  }
  return made;
}

}  // namespace beeline
