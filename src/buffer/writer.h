#pragma once

// The thread that writes. It takes all orders that are there, commits them together, and hands them
// back: one sync of the disk for as many senders as there are.
//
//   receiving thread ──submit()──> orders ──> writing thread ──> SQLite, one transaction a group
//                    <──take()──── answers <──┘    + fd()

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <boost/lockfree/spsc_queue.hpp>

#include <beeline/result.h>

#include "src/buffer/ledger.h"
#include "src/buffer/limits.h"
#include "src/buffer/order.h"
#include "src/os/fd.h"

namespace beeline::buffer {

class Writer {
 public:
  // Takes the ledger over. Errors: kSystem (no descriptor).
  [[nodiscard]] static Result<std::unique_ptr<Writer>> start(std::unique_ptr<Ledger> ledger);
  // Writes what was submitted, and drops the answers.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // One thread calls these three.
  // False if kMostOrders are under way: take answers first; the order stays with the caller.
  [[nodiscard]] bool submit(std::unique_ptr<Order>& order);
  // The next order that has its answer, in the order of submit(); null if there is none. An answer
  // without error is on the disk.
  [[nodiscard]] std::unique_ptr<Order> take();
  // Readable when take() may return something. take() empties it.
  [[nodiscard]] int fd() const noexcept { return answered_.get(); }
  // Orders under way.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }

  // How many transactions there were. Any thread.
  [[nodiscard]] std::uint64_t commits() const noexcept {
    return commits_.load(std::memory_order_relaxed);
  }

 private:
  using Ring = boost::lockfree::spsc_queue<Order*, boost::lockfree::capacity<kMostOrders>>;

  Writer(std::unique_ptr<Ledger> ledger, os::UniqueFd ordered, os::UniqueFd answered);
  // One pass of the writing thread.
  struct Round {
    std::size_t size = 0;            // orders of the group
    std::size_t came_meanwhile = 0;  // orders that came during the commit
    std::int64_t commit_ns = 0;
  };

  void run();
  // Waits for orders; false at the end.
  [[nodiscard]] bool wait();
  // Waits a little until as many orders are there as in the last round.
  void gather(const Round& last) const;
  void write(std::vector<Order*>& group);
  // Applies the orders in one transaction.
  [[nodiscard]] Result<void> write_together(const std::vector<Order*>& group);
  void wake_writer();

  std::unique_ptr<Ledger> ledger_;
  os::UniqueFd ordered_;   // wakes the writing thread
  os::UniqueFd answered_;  // wakes the receiving thread
  Ring orders_;
  Ring answers_;
  std::size_t pending_ = 0;
  std::atomic<bool> is_asleep_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::thread thread_;
};

}  // namespace beeline::buffer
