#pragma once
// What an Agent is made of: the send path, the receive path, the wait and the control client, and
// the tables that join them. One thread, but for the send side, which a SharedSender may enter from
// other threads under `send_mutex_`.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/lives.h"
#include "src/agent/send_queue.h"
#include "src/control/client.h"
#include "src/receive/receiver.h"
#include "src/receive/successor.h"
#include "src/send/send_path.h"
#include "src/wake/waiter.h"

namespace beeline {

class AgentCore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<AgentCore>> attach(const AttachOptions& options);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  // ---- Identity ----
  [[nodiscard]] Pid pid() const { return pid_; }
  [[nodiscard]] Pid parent() const { return parent_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

  // ---- Send (core_send.cc) ----
  [[nodiscard]] Result<Peer> peer(std::string_view name);
  [[nodiscard]] Result<Peer> peer(Pid pid);
  // `id` 0: a new one.
  SendResult send(Peer to, std::span<const std::byte> payload, const SendOptions& options,
                  Deadline deadline, MessageId id = 0);
  SendResult send_shared(Peer to, std::span<const std::byte> payload, const SendOptions& options,
                         Deadline deadline);
  [[nodiscard]] Result<Loan> loan(Peer to, std::size_t bytes, Deadline deadline);
  SendResult send_loan(Loan& loan, const SendOptions& options, Deadline deadline);
  void give_back(const Loan& loan);
  void share() {
    shared_.store(true, std::memory_order_relaxed);
  }  // relaxed: before other threads know us

  // ---- Receive (core_receive.cc) ----
  [[nodiscard]] std::optional<Message> try_receive(const Filter& filter);
  [[nodiscard]] Result<Message> receive(const ReceiveOptions& options);
  [[nodiscard]] Result<Message> request(Peer to, std::span<const std::byte> payload,
                                        Deadline deadline, const SendOptions& options);
  [[nodiscard]] bool urgent() { return receiver_->has_urgent(); }
  [[nodiscard]] int event_fd();
  [[nodiscard]] const receive::Receiver& receiver() const { return *receiver_; }
  [[nodiscard]] std::string_view type_of(std::uint32_t entry);
  [[nodiscard]] std::string_view channel_of(std::uint32_t entry);
  void done(std::uint32_t entry) { receiver_->done(entry); }
  void requeue(std::uint32_t entry) { receiver_->requeue(entry); }
  void reject(std::uint32_t entry) { receiver_->bury(entry, shm::DeadReason::kRejected); }

  // ---- Look (core_look.cc) ----
  [[nodiscard]] std::vector<InboxItem> inbox(std::size_t limit);
  [[nodiscard]] InboxCounters counters() const;
  [[nodiscard]] std::vector<LinkCounters> links() const;

  // ---- Control (core_control.cc) ----
  [[nodiscard]] std::optional<Notice> next_notice();
  std::uint64_t detach(Deadline drain_until);

 private:
  friend class Message;
  friend class Loan;
  AgentCore() = default;

  // core_attach.cc
  Result<void> join();
  Result<void> make_segments(const shm::HomeOptions& options);
  Result<void> map_directory(os::UniqueFd fd);
  Result<void> take_over(control::Attached& attached);
  Result<std::vector<control::AnnouncedLink>> await_links(std::uint32_t count);
  Result<void> inherit_link(control::AnnouncedLink& announced, receive::Predecessor& predecessor);

  // core_control.cc, core_links.cc
  // Handles what the coordinator has announced. Never blocks unless it must register again.
  void poll_control();
  void poll_control_sometimes();
  void handle(control::AnnouncedLink announced);
  void handle(const control::DiedAnnouncement& died);
  void handle(const control::FadedAnnouncement& faded);
  void accept_link(control::AnnouncedLink& announced);
  [[nodiscard]] receive::InLink& add_in_link(segment::Foreign memory,
                                             const control::AnnouncedLink& announced,
                                             std::uint16_t row);
  void connect_receipts(receive::InLink& link);
  void show_to_send_side(const receive::InLink& link);
  void refresh_peer(Pid pid);
  void watch_owners();
  void fade_links();
  void report_quarantined();
  void go_down();
  void resume();
  Result<void> register_again();
  Result<Peer> open_link(Pid pid);
  Result<send::OutLink*> add_out_link(Pid pid);
  Result<control::Opened> ask_open(send::OutLink& link, bool again);
  [[nodiscard]] send::OutLink* out_link(Pid pid);
  Result<void> learn_life(Pid pid, std::uint64_t incarnation, os::UniqueFd status,
                          os::UniqueFd event);
  [[nodiscard]] wake::Bell bell_of(Pid pid, std::uint64_t incarnation);
  void watch_peers();
  void reap_dead_links();
  void forget_lives();
  void make_send_path();

  // core_receive.cc, core_look.cc
  [[nodiscard]] std::uint32_t take(const Filter& filter);
  [[nodiscard]] InboxItem describe(std::uint32_t entry) const;

  // core_wait.cc
  // Waits until `ready()`; meanwhile drains, and handles control messages before each block.
  template <typename Ready>
  bool wait_until(std::int64_t deadline_ns, Ready&& ready);
  void last_look();
  void arm();
  [[nodiscard]] std::int64_t longest_block() const;
  void disarm();
  void publish_pressure();

  // core_send.cc
  [[nodiscard]] send::OutLink* link_of(Peer peer);
  SendResult send_now(send::OutLink& link, std::span<const std::byte> payload,
                      const SendOptions& options, MessageId id);
  [[nodiscard]] MessageId reserve_id();
  [[nodiscard]] bool look_for_receipts(Peer to);
  template <typename Attempt>
  void wait_for_space(Peer to, Deadline deadline, Attempt&& attempt);
  void flush_shared();
  // Holds the send side for the caller; free of cost while nobody shares it.
  [[nodiscard]] std::unique_lock<std::mutex> lock_send() {
    return shared_.load(
               std::memory_order_relaxed)  // relaxed: set by this thread, or before ours began
               ? std::unique_lock<std::mutex>(send_mutex_)
               : std::unique_lock<std::mutex>();
  }

  AttachOptions options_;
  std::string hive_;
  std::string name_;
  Pid pid_ = 0;
  Pid parent_ = 0;
  std::uint64_t incarnation_ = 0;
  std::uint32_t next_serial_ = 1;
  control::Client client_;
  segment::Foreign directory_;
  shm::DirectoryView directory_view_;
  segment::Owned status_;
  os::UniqueFd event_;
  std::unique_ptr<wake::Waiter> waiter_;

  std::mutex send_mutex_;
  std::atomic<bool> shared_{false};
  // Under the send mutex once shared: a flusher looks up where receivers are.
  Lives lives_;
  send::SendPath send_path_;
  std::vector<std::unique_ptr<send::OutLink>> out_;  // Peer::slot is the place; null = vacant
  std::unordered_map<Pid, std::uint32_t> slot_of_;
  SendQueue queue_;

  std::unique_ptr<receive::Receiver> receiver_;
  std::deque<Notice> notices_;
  std::unordered_map<std::string, Pid> names_;
  std::unordered_map<Pid, std::uint64_t> received_before_;  // through links that have faded
  shm::StringCopy text_;                                    // what type_of and channel_of return
  shm::StringCopy channel_text_;
  std::int64_t control_tick_ns_ = 0;  // when the control socket was looked at last, coarse
  std::int64_t next_resume_ns_ = 0;
  std::int64_t successor_since_ns_ = 0;  // 0: nobody has to find us
  std::int64_t belt_ns_ = 0;             // bound of the next block while senders still look for us
  std::uint32_t turns_ = 0;
  bool down_ = false;   // the hive went down
  bool armed_ = false;  // event mode: counts as asleep while the user waits outside
  bool attached_ = false;
};

}  // namespace beeline
