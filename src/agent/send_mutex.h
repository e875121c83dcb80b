#pragma once
// The mutex behind the send lock. A debug build knows which thread holds it, so that a step that
// requires the lock can check it.

#include <atomic>
#include <mutex>
#include <thread>

namespace beeline {

class SendMutex {
 public:
  void lock() {
    mutex_.lock();
    note_holder(std::this_thread::get_id());
  }
  void unlock() {
    note_holder({});
    mutex_.unlock();
  }
  // This thread holds it; for BEELINE_DCHECK alone.
  [[nodiscard]] bool is_ours() const {
    return holder_.load(std::memory_order_relaxed) ==  // relaxed: a thread asks for its own id
           std::this_thread::get_id();
  }

 private:
#ifdef NDEBUG
  void note_holder(std::thread::id /*holder*/) {}
#else
  void note_holder(std::thread::id holder) {
    holder_.store(holder, std::memory_order_relaxed);  // relaxed: see is_ours()
  }
#endif

  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
};

}  // namespace beeline
