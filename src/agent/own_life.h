#pragma once
// This life of the agent: who it is, and whether it still sends, receives and runs.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <beeline/agent.h>

#include "shm/check.h"
#include "shm/directory.h"
#include "shm/link.h"
#include "src/agent/notices.h"
#include "src/agent/send_mutex.h"

namespace beeline {

// The identity that the coordinator gave an agent. It stays for the whole life.
struct Identity {
  AttachOptions options;
  std::string hive;
  std::string name;
  Pid pid = 0;
  shm::Incarnation incarnation;
  shm::LinkContract contract;  // of the links that this agent opens
};

// One thread, but for the send lock and has_left(): other threads send too.
class OwnLife {
 public:
  OwnLife(Identity identity, Notices& notices)
      : identity_(std::move(identity)), notices_(notices) {}

  [[nodiscard]] Pid pid() const { return identity_.pid; }
  [[nodiscard]] shm::Incarnation incarnation() const { return identity_.incarnation; }
  [[nodiscard]] const std::string& name() const { return identity_.name; }
  [[nodiscard]] const std::string& hive() const { return identity_.hive; }
  [[nodiscard]] const AttachOptions& options() const { return identity_.options; }
  [[nodiscard]] const shm::LinkContract& contract() const { return identity_.contract; }

  // ---- The send lock ----
  // Holds the send side for the caller. It costs nothing while no other thread sends.
  [[gnu::always_inline]] [[nodiscard]] std::unique_lock<SendMutex> lock_send() {
    // relaxed: set by this thread, or before ours began
    if (!shared_.load(std::memory_order_relaxed)) return {};
    return std::unique_lock<SendMutex>(mutex_);
  }
  // The same for a thread that is not the agent's own.
  [[nodiscard]] std::unique_lock<SendMutex> lock_shared_send() {
    return std::unique_lock<SendMutex>(mutex_);
  }
  // The caller holds the send side, or no other thread sends; for BEELINE_DCHECK alone.
  [[nodiscard]] bool holds_send() const {
    return !shared_.load(std::memory_order_relaxed) || mutex_.is_ours();  // relaxed: as above
  }
  // From now on other threads send too.
  // relaxed: before other threads know us
  void share() { shared_.store(true, std::memory_order_relaxed); }

  // ---- How it ends ----
  // This agent sends nothing any more. A sender asks under the send lock where that counts.
  [[nodiscard]] bool has_left() const {
    return left_.load(std::memory_order_relaxed);  // relaxed: see leave()
  }
  // This agent takes nothing any more either: another process may own the inbox. True in a forked
  // child too.
  [[nodiscard]] bool has_ended() const { return !attached_; }
  // The hive went down, or this life has ended.
  [[nodiscard]] bool is_down() const { return down_; }
  [[nodiscard]] bool is_forked() const { return forked_; }
  [[nodiscard]] std::string why_down() const;

  // ---- How it waits ----
  // The user waits outside of the library, so nothing that he has not asked for may wait inside.
  [[nodiscard]] bool waits_outside() const { return waits_outside_; }
  void wait_outside() { waits_outside_ = true; }

  // The coordinator says in this word of the directory which life of the agent counts.
  void watch(const shm::Atomic<std::uint64_t>& word) {
    word_ = &word;
    counted_ = 0;
  }
  // Once this life has ended, messages in the lanes belong to its successor, and anything that it
  // sends is ignored. One load: an agent that lost its connection for good hears of its end in no
  // other way.
  [[gnu::always_inline]] [[nodiscard]] bool still_counts() {
    if (has_ended()) return false;
    const std::uint64_t word = word_->observe();
    return word == counted_ || counts_in(word);
  }
  void begin() {
    BEELINE_CHECK(!attached_, identity_.pid);
    attached_ = true;
  }
  void end();
  void go_down();
  void leave();
  // After the farewell: every wait of this agent ends.
  void close();
  // Runs inside fork(): stores alone.
  void become_a_copy();

 private:
  [[nodiscard]] bool counts_in(std::uint64_t word);

  Identity identity_;
  const shm::Atomic<std::uint64_t>* word_ = nullptr;  // our own, in the directory
  std::uint64_t counted_ = 0;                         // as the word was when this life counted last
  bool attached_ = false;
  bool down_ = false;
  bool forked_ = false;  // in a forked child
  bool waits_outside_ = false;
  std::atomic<bool> left_{false};
  std::atomic<bool> shared_{false};
  SendMutex mutex_;
  Notices& notices_;
};

}  // namespace beeline
