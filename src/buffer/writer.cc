#include "src/buffer/writer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "src/os/clock.h"
#include "src/os/event_fd.h"

namespace beeline::buffer {
namespace {

// The writer waits at most this part of the last commit's time for senders that may come back.
constexpr std::int64_t kPartOfCommit = 4;
constexpr std::int64_t kLongestPauseNs = 5'000'000;
constexpr std::int64_t kLooks = 8;  // within that time

}  // namespace

Result<std::unique_ptr<Writer>> Writer::start(std::unique_ptr<Ledger> ledger) {
  auto ordered = os::create_event_fd();
  if (!ordered) return tl::unexpected(std::move(ordered.error()));
  auto answered = os::create_event_fd();
  if (!answered) return tl::unexpected(std::move(answered.error()));
  return std::unique_ptr<Writer>(
      new Writer(std::move(ledger), std::move(*ordered), std::move(*answered)));
}

Writer::Writer(std::unique_ptr<Ledger> ledger, os::UniqueFd ordered, os::UniqueFd answered)
    : ledger_(std::move(ledger)), ordered_(std::move(ordered)), answered_(std::move(answered)) {
  thread_ = std::thread([this] { run(); });
}

Writer::~Writer() {
  is_ending_.store(true, std::memory_order_seq_cst);
  os::signal_event(ordered_.get());
  thread_.join();
  while (take() != nullptr) {
  }
}

bool Writer::submit(std::unique_ptr<Order>& order) {
  if (pending_ == kMostOrders || !orders_.push(order.get())) return false;
  (void)order.release();  // the ring owns it
  ++pending_;
  wake_writer();
  return true;
}

std::unique_ptr<Order> Writer::take() {
  Order* order = nullptr;
  if (!answers_.pop(order)) {
    os::drain_event(answered_.get());
    // SUBTLE: look again. The writer pushes before it signals, so a signal that was just drained
    // may belong to an order that the first look missed.
    if (!answers_.pop(order)) return nullptr;
  }
  --pending_;
  return std::unique_ptr<Order>(order);
}

// SUBTLE: both sides exchange the flag. If the submitter's exchange comes first, the writer's sees
// the pushed order when it looks again; if it comes second, it finds the flag and signals.
void Writer::wake_writer() {
  if (is_asleep_.exchange(false, std::memory_order_seq_cst)) os::signal_event(ordered_.get());
}

bool Writer::wait() {
  while (orders_.read_available() == 0) {
    is_asleep_.exchange(true, std::memory_order_seq_cst);
    const bool is_ending = is_ending_.load(std::memory_order_seq_cst);
    if (orders_.read_available() == 0) {
      if (is_ending) return false;
      (void)os::wait_readable(ordered_.get(), std::chrono::nanoseconds::max());
      os::drain_event(ordered_.get());
    }
    is_asleep_.store(false, std::memory_order_seq_cst);
  }
  return true;
}

// Senders that have just got their answer often send the next order at once. Without a pause two
// halves of them would take turns, and each commit would carry one half.
void Writer::gather(const Round& last) const {
  const std::size_t wanted = std::min(last.size + last.came_meanwhile, kMostOrders);
  const std::int64_t pause_ns = std::min(last.commit_ns / kPartOfCommit, kLongestPauseNs);
  for (std::int64_t look = 0; look < kLooks && orders_.read_available() < wanted; ++look) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns / kLooks));
  }
}

void Writer::run() {
  std::vector<Order*> group;
  group.reserve(kMostOrders);
  Round last;
  while (wait()) {
    gather(last);
    orders_.consume_all([&](Order* order) { group.push_back(order); });
    const std::int64_t begin = os::monotonic_ns();
    write(group);
    last = {group.size(), orders_.read_available(), os::monotonic_ns() - begin};
    for (Order* order : group) {
      // There is room: no more orders are under way than a ring has places.
      while (!answers_.push(order)) std::this_thread::yield();
    }
    group.clear();
    os::signal_event(answered_.get());
  }
}

void Writer::write(std::vector<Order*>& group) {
  auto written = write_together(group);
  if (written) return;
  // A large order may fill the disk while the others have room: give each its own transaction.
  if (written.error().code == ErrorCode::kFull && group.size() > 1) {
    for (Order* order : group) {
      if (auto alone = write_together({order}); !alone) {
        order->answer = tl::unexpected(std::move(alone.error()));
      }
    }
    return;
  }
  for (Order* order : group) order->answer = tl::unexpected(written.error());
}

Result<void> Writer::write_together(const std::vector<Order*>& group) {
  auto done = ledger_->begin();
  for (std::size_t i = 0; done && i < group.size(); ++i) {
    group[i]->answer = ledger_->apply(group[i]->request);
    if (!group[i]->answer && !is_refusal(group[i]->answer.error())) {
      done = tl::unexpected(group[i]->answer.error());
    }
  }
  if (done) done = ledger_->commit();
  if (done) {
    commits_.fetch_add(1, std::memory_order_relaxed);
  } else {
    ledger_->roll_back();
  }
  return done;
}

}  // namespace beeline::buffer
