#include "src/buffer/service/service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/service/log.h"

namespace beeline::buffer {
namespace {

constexpr std::size_t kMostMessages = 256;
constexpr std::chrono::seconds kAnswerPatience(2);
constexpr std::chrono::seconds kLeavePatience(1);
constexpr std::uint32_t kInboxCapacity = 16'384;
constexpr std::uint32_t kMostHandedOut = 1'000'000;

}  // namespace

AttachOptions buffer_attach_options() {
  AttachOptions options;
  options.role = "daemon";
  options.inbox_capacity = kInboxCapacity;
  // A message is not to blame for the deaths of its buffer.
  options.max_attempts = 255;
  options.wait = WaitMode::kSleep;
  return options;
}

Result<std::unique_ptr<Service>> Service::start(Agent agent, Store store, int stop_fd) {
  const auto self = agent.info();
  if (!self) return tl::unexpected(self.error());
  const Config config = store.ledger->config();
  auto writer = Writer::start(std::move(store.ledger));
  if (!writer) return tl::unexpected(std::move(writer.error()));
  std::unique_ptr<Service> service(
      new Service(std::move(agent), std::move(store), std::move(*writer), config,
                  fmt::format("{}@{}", self->pid, self->started_unix_ns), stop_fd));
  if (auto recovered = service->recover(); !recovered) {
    return tl::unexpected(std::move(recovered.error()));
  }
  return service;
}

Service::Service(Agent agent, Store store, std::unique_ptr<Writer> writer, Config config,
                 std::string hive_start, int stop_fd)
    : agent_(std::move(agent)),
      store_(std::move(store)),
      config_(std::move(config)),
      writer_(std::move(writer)),
      stop_fd_(stop_fd),
      again_(alarms_),
      orders_(*writer_),
      post_(agent_, alarms_),
      claims_({agent_, orders_, post_, alarms_, again_}),
      ticker_({orders_, alarms_, again_}, {[this] { claims_.look(); }, [this] { runs_.look(); }},
              config_.batch_window),
      runs_({agent_, orders_, post_, alarms_, again_, store_.view->queries(), config_}),
      chores_({orders_, post_, alarms_, again_},
              {[this] { ticker_.hear_unrouted(); }, [this] { runs_.look(); },
               [this](std::uint64_t open) { desk_.note_crossing(open); }},
              config_.retention_days),
      desk_({orders_, post_, again_, claims_, ticker_, chores_, store_.view->queries(), *writer_,
             config_},
            {agent_.pid(), std::move(hive_start), store_.path}) {}

Result<void> Service::recover() {
  if (auto recovered = runs_.recover(); !recovered) return recovered;
  // The batches of the life before come again, flagged.
  const auto leased = store_.view->queries().batches(kMostHandedOut, "leased");
  if (!leased) return tl::unexpected(leased.error());
  for (const Batch& batch : *leased) claims_.give_back(batch.id);
  if (!leased->empty()) {
    service::log_info("given_back", fmt::format("{} batches of the life before", leased->size()));
  }
  ticker_.tick();
  chores_.fire_jobs();
  chores_.prune_daily();
  return {};
}

Service::End Service::run() {
  for (;;) {
    if (std::exchange(has_answers_, false)) orders_.hear();
    const bool took = take_messages();
    if (!took) take_late_answers();
    hear_alarms();
    // Only a poll hears acknowledgements, and one that was sent before a request counts before it.
    if (took) (void)agent_.loop().poll();
    handle_taken();
    const Readiness found = agent_.loop().poll();
    if (found.ended || (found.notices && has_shut_down())) return End::kHiveDown;
    if (found.peers != 0) {
      post_.hear_peers();
      continue;
    }
    if (desk_.is_told_to_end()) begin_end();
    if (is_over()) {
      (void)agent_.detach(after(kLeavePatience));  // with the acknowledgements that are owed
      return End::kStopped;
    }
    const bool may_take = !is_stopping_ && orders_.has_room();
    if (may_take && took && found.messages != 0) {
      has_answers_ = true;  // perhaps: nobody has looked since
      continue;
    }
    wait(may_take && found.messages != 0 ? after(std::chrono::milliseconds(1)) : found.next);
  }
}

// Nobody waits for them, but they take room.
void Service::take_late_answers() {
  for (Lease& late : agent_.drain_pending_results()) desk_.take(std::move(late));
}

bool Service::take_messages() {
  std::size_t bytes = 0;
  while (taken_.size() < kMostMessages && !is_stopping_ && orders_.has_room(bytes)) {
    auto message = agent_.try_receive();
    if (!message) break;
    bytes += message->payload().size();
    taken_.push_back(std::move(*message));
  }
  return !taken_.empty();
}

void Service::handle_taken() {
  for (Lease& lease : taken_) desk_.take(std::move(lease));
  taken_.clear();
}

void Service::hear_alarms() {
  for (const Duty duty : alarms_.take_due(os::monotonic_ns())) {
    switch (duty) {
      case Duty::kRoute:
        ticker_.tick();
        break;
      case Duty::kPost:
        post_.try_again();
        break;
      case Duty::kTakes:
        claims_.hear_takes_over();
        break;
      case Duty::kAgain:
        again_.run();
        break;
      case Duty::kTasks:
        runs_.go_on();
        break;
      case Duty::kJobs:
        chores_.hear_jobs_due();
        break;
      case Duty::kPrune:
        chores_.prune_daily();
        break;
      case Duty::kCount:
        break;
    }
  }
}

bool Service::has_shut_down() {
  while (const auto notice = agent_.next_notice()) {
    if (notice->kind == Notice::Kind::kShutdown) return true;
  }
  return false;
}

void Service::begin_end() {
  if (std::exchange(is_stopping_, true)) return;
  end_patience_ = after(kAnswerPatience);
}

// Claims and open tasks stay for the next life.
bool Service::is_over() const {
  if (!is_stopping_ || !orders_.is_idle()) return false;
  return post_.is_idle() || std::chrono::steady_clock::now() >= end_patience_;
}

void Service::wait(Deadline agent_wants) {
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t alarm = alarms_.next();
  auto patience = std::chrono::nanoseconds::max();
  if (alarm != 0) patience = std::chrono::nanoseconds(std::max<std::int64_t>(alarm - now, 0));
  if (agent_wants != Deadline::max()) {
    patience = std::min<std::chrono::nanoseconds>(patience,
                                                  agent_wants - std::chrono::steady_clock::now());
  }
  if (is_stopping_) {
    patience = std::min<std::chrono::nanoseconds>(patience, std::chrono::milliseconds(20));
  }
  const std::array fds{agent_.fd(), writer_->fd(), is_stopping_ ? -1 : stop_fd_};
  for (const std::size_t index : os::poll_readable(fds, patience)) {
    if (index == 1) has_answers_ = true;
    if (index == 2) begin_end();
  }
}

}  // namespace beeline::buffer
