// Joining a hive: segments, directory, and what a successor takes over from its predecessor.

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "src/agent/core.h"
#include "src/agent/ended.h"
#include "src/agent/fd_limit.h"
#include "src/control/hive_paths.h"
#include "src/control/names.h"
#include "src/control/roles.h"
#include "src/os/event_fd.h"
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
  if (const char* text = ::secure_getenv("BEELINE_SPIN_US"); text != nullptr && *text != '\0') {
    constexpr std::int64_t kLongest = 1'000'000;
    const std::string_view digits(text);
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

}  // namespace

Result<std::unique_ptr<AgentCore>> AgentCore::attach(const AttachOptions& options) {
  if (const auto policy = wait_policy(options); !policy) return tl::unexpected(policy.error());
  const std::int64_t deadline = os::monotonic_ns() + options.control_timeout.count();
  for (int round = 0;; ++round) {
    std::unique_ptr<AgentCore> core(new AgentCore());
    core->options_ = options;
    const auto done = core->join();
    if (done) return core;
    // Whoever attaches next under this name need not wait until the connection is seen to be gone.
    if (core->pid_ != 0) static_cast<void>(core->client_.detach({}));
    // The coordinator died meanwhile: what it knew of us ends with this attempt, the next one asks
    // its successor.
    if (done.error().code != ErrorCode::kClosed || os::monotonic_ns() >= deadline) {
      return tl::unexpected(done.error());
    }
    wake::nap(round);
  }
}

AgentCore::~AgentCore() {
  if (attached_) detach(Deadline::min());
}

Result<void> AgentCore::join() {
  const auto home = home_options(options_);
  if (!home) return tl::unexpected(home.error());
  if (auto text = control::check_utf8("role", options_.role); !text) return text;
  const auto role = control::role_from(options_.role);
  if (!role) {
    return fail(ErrorCode::kInvalid,
                "attach: role \"" + options_.role + "\" is none of " + control::agent_roles());
  }
  // The largest limit that any hive can have: what is wrong in any case is said at once.
  if (auto legal = contract_of(options_, shm::kMaxMaxPayload); !legal) {
    return tl::unexpected(legal.error());
  }
  auto send_rate = bucket_of("send", options_.send_rate, options_.send_burst);
  if (!send_rate) return tl::unexpected(send_rate.error());
  send_rate_ = *send_rate;
  auto receive_rate = bucket_of("receive", options_.receive_rate, options_.receive_burst);
  if (!receive_rate) return tl::unexpected(receive_rate.error());
  receive_rates_ = receive::Rates(*receive_rate);
  if (options_.retry_pause.count() < 0 || options_.retry_pause > std::chrono::hours(1)) {
    return fail(ErrorCode::kInvalid, "attach: retry_pause is " +
                                         std::to_string(options_.retry_pause.count()) +
                                         " ns; it may be 0 to 1 h");
  }
  retries_ = Retries(options_.retry_pause);
  // A low limit shows as kSystem where it hurts.
  if (options_.raise_fd_limit) static_cast<void>(raise_fd_limit_for_peers());
  const auto paths = control::find_hive(options_.hive);
  if (!paths) return tl::unexpected(paths.error());
  hive_ = paths->hive;
  auto client = control::Client::connect(
      {options_.hive, options_.start_coordinator, options_.control_timeout});
  if (!client) return tl::unexpected(client.error());
  client_ = std::move(*client);
  control::AttachRequest request;
  request.name = options_.name;
  request.parent = options_.parent;
  request.role = *role;
  request.temporary = options_.temporary || options_.name.empty();
  auto attached = client_.attach(request);
  if (!attached) return tl::unexpected(attached.error());
  client_.start_on_reconnect(false);
  pid_ = attached->pid;
  parent_ = attached->parent_pid;
  name_ = attached->name;
  incarnation_ = attached->incarnation;
  auto mapped = map_directory(std::move(attached->directory), attached->index);
  if (!mapped) return mapped;
  const auto contract = contract_of(options_, directory_view_.control().max_payload_bytes);
  if (!contract) return tl::unexpected(contract.error());
  contract_ = *contract;
  if (auto done = make_segments(*home); !done) return done;
  if (attached->predecessor != 0) {
    if (auto done = take_over(*attached); !done) return done;
  } else {
    receiver_->home().set_ready();
    const auto done = client_.provide(receiver_->home().fd(), status_.fd(), bells_.own(), true);
    if (!done) return done;
  }
  attached_ = true;
  poll_control();
  return {};
}

Result<void> AgentCore::map_directory(os::UniqueFd fd, std::uint32_t index) {
  auto header_fd = os::duplicate(fd.get());
  if (!header_fd) return tl::unexpected(header_fd.error());
  // The epoch in the header is not promised: the directory is the coordinator's, whom we trust for
  // it.
  auto mapping = os::Mapping::map_readable(fd.get(), shm::DirectoryLayout::kBytes);
  if (!mapping) return tl::unexpected(mapping.error());
  const auto& header = *reinterpret_cast<const shm::SegmentHeader*>(mapping->data());
  const shm::SegmentIdentity promised{shm::SegmentKind::kDirectory,
                                      shm::DirectoryLayout::kBytes,
                                      1,
                                      0,
                                      header.owner_incarnation,
                                      0};
  auto directory =
      segment::Foreign::accept(std::move(*header_fd), promised, shm::DirectoryLayout::kFirstExtent);
  if (!directory) return tl::unexpected(directory.error());
  const auto lock = lock_send();
  for (const auto& link : out_) {
    if (link == nullptr) continue;
    link->place = nullptr;   // it lies in the old one
    link->stop_listening();  // until its word in the new one says whose receipts count
  }
  directory_ = std::move(*directory);
  directory_view_ = shm::DirectoryView(directory_.data());
  index_ = index;
  news_.watch(directory_view_.packets(index_));
  send_path_.set_directory(directory_view_);
  return {};
}

Result<void> AgentCore::make_segments(const shm::HomeOptions& options) {
  auto home = receive::HomeMemory::create(hive_, pid_, incarnation_, options);
  if (!home) return tl::unexpected(home.error());
  receiver_ = std::make_unique<receive::Receiver>(std::move(*home));
  auto status = segment::Owned::create(segment::status_name(hive_, pid_, incarnation_),
                                       shm::kStatusBytes, shm::kStatusBytes);
  if (!status) return tl::unexpected(status.error());
  status_ = std::move(*status);
  auto& page = *reinterpret_cast<shm::StatusPage*>(status_.data());
  shm::init_status(page, pid_, incarnation_);
  page.capacity.relaxed_store(options.capacity);
  auto bells = wake::BellSet::create();
  if (!bells) return tl::unexpected(bells.error());
  bells_ = std::move(*bells);
  if (receive_rates_.on()) {
    if (auto done = make_timer(); !done) return done;
  }
  const auto policy = wait_policy(options_);
  if (!policy) return tl::unexpected(policy.error());
  waiter_ = std::make_unique<wake::Waiter>(page, bells_, *policy);
  make_send_path();
  return {};
}

void AgentCore::make_send_path() {
  send_path_ = send::SendPath(
      pid_, receiver_->home().home().control().reserved_ids,
      [this](Pid pid, std::uint64_t incarnation) { return lives_.find(pid, incarnation); });
  send_path_.set_directory(directory_view_);
}

Result<void> AgentCore::take_over(control::Attached& attached) {
  auto old = receive::OldHome::accept(std::move(attached.home), pid_, attached.predecessor);
  if (!old) return tl::unexpected(old.error());
  receive::Predecessor predecessor(std::move(*old), attached.in_links);
  if (auto done = inherit_links(attached.in_links, predecessor); !done) return done;
  if (auto done = receive::inherit_home(*receiver_, predecessor); !done) return done;
  // Ids continue above all that the predecessor may have used.
  make_send_path();
  receiver_->home().set_ready();
  auto done = client_.provide(receiver_->home().fd(), status_.fd(), bells_.own(), false);
  if (!done) return done;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const auto opened = ask_open(*out_[i], false);
    if (!opened && opened.error().code != ErrorCode::kPeerDead &&
        opened.error().code != ErrorCode::kNoAgent) {
      return tl::unexpected(opened.error());
    }
    if (!opened) out_[i]->dead = true;
  }
  done = client_.ready();
  if (!done) return done;
  // From here on our receipts count: whoever waited for the predecessor to take something looks
  // again.
  receiver_->settle_adopted();
  receiver_->ring_all_for_space();
  successor_since_ns_ = os::monotonic_ns();
  return {};
}

// This life takes over all links of which the predecessor holds something, with the last
// descriptors too, because nobody else can read that. Other links wait until this life runs where
// there are not enough descriptors for all.
Result<void> AgentCore::inherit_links(std::uint32_t count, receive::Predecessor& predecessor) {
  constexpr int kMostFds = 6;  // of one link, with our own and the predecessor's to its owner
  const bool is_short = static_cast<std::int64_t>(count) * kMostFds > os::first_own_fd();
  const std::int64_t deadline = os::monotonic_ns() + options_.control_timeout.count();
  int tries_left = 64;
  while (count > 0) {
    auto next = await_link(deadline);
    if (!next) return tl::unexpected(std::move(next.error()));
    const shm::LinkKey key{next->incarnation, next->serial};
    const bool is_held = predecessor.home.holds(key);
    const bool is_late = postponed_.has_older(next->pid, key.incarnation);
    if (!is_held && (is_short || is_late || !next->link.valid())) {
      postponed_.add_shared(next->pid, key);
    } else if (!next->link.valid()) {
      // Others that have come with it are in by now.
      if (tries_left-- == 0 || !client_.tell(key.incarnation, key.serial)) {
        return fail(ErrorCode::kSystem,
                    "attach: this process may not open as many files as the life before it had "
                    "for its links; raise the limit (ulimit -n)");
      }
      continue;
    } else if (auto done = inherit_link(*next, predecessor); !done) {
      return done;
    }
    --count;
  }
  return {};
}

Result<control::AnnouncedLink> AgentCore::await_link(std::int64_t deadline_ns) {
  for (;;) {
    auto next = client_.try_next();
    if (next && std::holds_alternative<control::AnnouncedLink>(*next)) {
      return std::move(std::get<control::AnnouncedLink>(*next));
    }
    if (next) {
      handle(std::move(*next));
      continue;
    }
    if (client_.closed()) return fail(ErrorCode::kClosed, "attach: the coordinator went away");
    const auto left = std::chrono::nanoseconds(deadline_ns - os::monotonic_ns());
    if (left.count() <= 0 || !os::wait_readable(client_.fd(), left)) {
      return fail(ErrorCode::kTimeout,
                  "attach: not all links of the predecessor were announced in time; attach again");
    }
  }
}

Result<void> AgentCore::inherit_link(control::AnnouncedLink& announced,
                                     receive::Predecessor& predecessor) {
  learn_owner(announced);
  auto memory = map_link(announced);
  if (!memory && !segment::is_lie(memory.error())) return tl::unexpected(memory.error());
  if (!memory) {  // its owner lied about it; what it held cannot be read by anybody
    refuse(announced, memory.error().text);
    return {};
  }
  receive::OldReceipts old;
  if (announced.mine) {
    const shm::LinkKey mine{predecessor.home.incarnation(), announced.mine->serial};
    old = {std::move(announced.mine_link), mine, announced.mine->contract};
  }
  auto link = make_in_link(std::move(*memory), announced);
  link->watch_owner();
  send::OutLink* own = out_link(announced.pid);
  if (own == nullptr &&
      !Ended(*this).is_finally_dead(*link)) {  // nobody reads what we would say to the dead
    auto made = add_out_link(announced.pid);
    if (!made) return tl::unexpected(made.error());
    own = *made;
  }
  // One owner may have more lives than there are banks. Lives that have ended need none.
  if (!link->owner_gone) {
    link->sink = {&own->view(), &own->memory(), shm::vacant_bank(own->view())};
  }
  auto inherited = receive::inherit_link(*receiver_, predecessor, std::move(link), std::move(old),
                                         announced.released);
  if (!inherited) return tl::unexpected(inherited.error());
  if (*inherited == nullptr) {
    gone_.push_back({announced.incarnation, announced.serial});
  } else {
    join_life(**inherited);
    if ((*inherited)->owner_gone) Ended(*this).end_owner(**inherited);
  }
  return {};
}

}  // namespace beeline
