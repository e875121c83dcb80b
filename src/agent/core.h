#pragma once
// What an Agent is made of: the send path, the receive path, the wait and the control client, and
// the tables that join them. One thread, but for the send side, which a SharedSender may enter from
// other threads under `send_mutex_`.

#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/attempt.h"
#include "src/agent/debt.h"
#include "src/agent/escalations.h"
#include "src/agent/fork_guard.h"
#include "src/agent/known_name.h"
#include "src/agent/lives.h"
#include "src/agent/look_pace.h"
#include "src/agent/news.h"
#include "src/agent/postponed_links.h"
#include "src/agent/question.h"
#include "src/agent/retries.h"
#include "src/agent/send_queue.h"
#include "src/control/client.h"
#include "src/receive/rates.h"
#include "src/receive/receiver.h"
#include "src/receive/successor.h"
#include "src/send/send_path.h"
#include "src/wake/waiter.h"

namespace beeline {

class Letterhead;

class AgentCore {
 public:
  using Bytes = std::span<const std::byte>;
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
  [[nodiscard]] Result<Peer> peer(const To& to);
  [[nodiscard]] Result<Peer> peer(std::string_view name);
  [[nodiscard]] Result<Peer> peer(Pid pid);
  Result<Peer> wait_for(std::string_view name, Deadline deadline, const WaitOptions& options);
  // `id` 0: a new one.
  SendResult send(Peer to, Bytes payload, const SendOptions& options, Deadline deadline,
                  MessageId id = 0);
  SendResult reply(Message& message, Bytes payload, const SendOptions& options, Deadline deadline);
  SendResult send_shared(Peer to, Bytes payload, const SendOptions& options, Deadline deadline);
  [[nodiscard]] std::vector<Delivery> broadcast(const Group& group, Bytes payload,
                                                const SendOptions& options);
  [[nodiscard]] Result<Loan> loan(Peer to, std::size_t bytes, Deadline deadline);
  SendResult send_loan(Loan& loan, const SendOptions& options, Deadline deadline);
  void give_back(const Loan& loan);
  // relaxed: before other threads know us
  void share() { shared_.store(true, std::memory_order_relaxed); }

  // ---- Receive (core_receive.cc) ----
  [[nodiscard]] std::optional<Message> try_receive(const Filter& filter);
  [[nodiscard]] Result<Message> receive(const ReceiveOptions& options);
  // The first one was just handed out; adds those behind it. They are handled in that order.
  [[nodiscard]] std::size_t fill_batch(std::span<Message> batch, const Filter& filter);
  [[nodiscard]] bool urgent();
  [[nodiscard]] int event_fd();
  [[nodiscard]] const receive::Receiver& receiver() const { return *receiver_; }
  [[nodiscard]] std::string_view type_of(std::uint32_t entry);
  [[nodiscard]] std::string_view channel_of(std::uint32_t entry);
  [[nodiscard]] Relation relation_of(std::uint32_t entry) const;
  [[nodiscard]] Pid via_of(std::uint32_t entry);
  // `how`: what a sender that has asked learns.
  void done(std::uint32_t entry, std::string_view reply, AckStatus how = AckStatus::kAccepted);
  void done_told(std::uint32_t entry, std::string_view reply, AckStatus how);
  void requeue(std::uint32_t entry, shm::Cost cost = shm::Cost::kAttempt);
  [[nodiscard]] bool put_off(std::uint32_t entry);
  void release_retries();
  void let_go(std::uint32_t entry);
  void reject(std::uint32_t entry, std::string_view reply);

  // ---- Conversation (core_request.cc) ----
  [[nodiscard]] Result<Message> request(Peer to, Bytes payload, Deadline deadline,
                                        const SendOptions& options);
  std::vector<Result<Message>> request_all(std::span<const Request> requests, Deadline deadline);
  [[nodiscard]] Result<MessageId> request_then(Peer to, Bytes payload, Deadline deadline,
                                               Question::Then then, const SendOptions& options);
  [[nodiscard]] Result<Deadline> run_answers();
  SendResult fire_and_forget(Peer to, Bytes payload, const SendOptions& options);
  [[nodiscard]] std::vector<Message> drain_pending_results();
  [[nodiscard]] Result<Acknowledgement> await_ack(Peer to, MessageId id, Deadline deadline);
  [[nodiscard]] Result<Acknowledgement> send_acked(Peer to, Bytes payload, Deadline deadline,
                                                   const SendOptions& options);

  // ---- Handling (core_serve.cc) ----
  Result<std::size_t> serve(const MessageHandler& handler, const ServeOptions& options);
  void stop_serving() { stop_serving_ = true; }
  [[nodiscard]] Result<Message> held(MessageId id);
  [[nodiscard]] bool is_cancelled(std::uint32_t entry);
  void defer(std::uint32_t entry, std::string_view reply = {});
  [[nodiscard]] Escalations& escalations() { return escalations_; }
  SendResult cancel(Peer to, MessageId id);
  SendResult send_control(Peer to, std::span<const std::byte> payload, const SendOptions& options);

  // ---- Look (core_look.cc) ----
  [[nodiscard]] std::vector<InboxItem> inbox(std::size_t limit, const Filter& filter);
  [[nodiscard]] InboxCounters counters();
  void bury_expired();
  [[nodiscard]] std::vector<LinkCounters> links();

  // ---- Dead letters (core_letters.cc) ----
  [[nodiscard]] Result<void> requeue_dead(MessageId id);
  bool purge_dead(MessageId id);
  std::size_t purge_all_dead();

  // ---- Registry (core_registry.cc) ----
  [[nodiscard]] Result<std::vector<AgentInfo>> siblings();
  [[nodiscard]] Result<std::vector<AgentInfo>> children(bool recursive);
  [[nodiscard]] Result<AgentInfo> info(Pid pid);
  [[nodiscard]] Result<AgentInfo> find(std::string_view name);
  void set_sleeping(bool sleeping);

  // ---- Control (core_control.cc) ----
  [[nodiscard]] std::optional<Notice> next_notice();
  std::uint64_t detach(Deadline drain_until);
  void become_a_copy();

 private:
  friend class Escalations;
  friend class Message;
  friend class Loan;
  AgentCore() = default;

  // core_attach.cc
  Result<void> join();
  Result<void> make_segments(const shm::HomeOptions& options);
  Result<void> map_directory(os::UniqueFd fd, std::uint32_t index);
  Result<void> take_over(control::Attached& attached);
  Result<void> inherit_links(std::uint32_t count, receive::Predecessor& predecessor);
  Result<control::AnnouncedLink> await_link(std::int64_t deadline_ns);
  Result<void> inherit_link(control::AnnouncedLink& announced, receive::Predecessor& predecessor);

  // core_control.cc
  // Handles what the coordinator has announced. Blocks for a few ms where it must be found again.
  void poll_control();
  // The same unless it was done a moment ago. `now_ns`: coarse clock.
  void poll_control_at(std::int64_t now_ns);
  void poll_control_now(std::int64_t now_ns);  // what is left of it where it is time
  void poll_control_sometimes();               // for loops that look all the time and at no clock
  void handle_announcements();
  void handle_some_announcements();
  void hear();  // what was announced is known from now on
  void hear_news();
  void handle(control::Announcement announcement);
  void handle(control::AnnouncedLink announced);
  void handle(const control::DiedAnnouncement& died);
  void handle(const control::EndedAnnouncement& ended);      // core_lies.cc
  void handle(const control::LettersAnnouncement& letters);  // core_letters.cc
  void go_down();
  void leave();
  void say_goodbye();
  [[nodiscard]] std::uint64_t not_taken();
  void want_all_space(bool wanted);
  void note(Notice notice);
  // Nothing is sent any more; looked at under the send lock where that counts.
  [[nodiscard]] bool has_left() const {
    return left_.load(std::memory_order_relaxed);  // relaxed: see above
  }
  // Nothing is taken any more either: somebody else may own the inbox. True in a forked child too.
  [[nodiscard]] bool has_ended() const { return !attached_; }
  [[nodiscard]] std::string why_down() const;

  // core_resume.cc
  void resume_sometimes();
  // Finds the coordinator again and registers. Errors: kClosed, kNoCoordinator, kTimeout ...
  Result<void> resume(std::chrono::nanoseconds patience);
  // The same in a call that may wait for it. For one that did not answer it waits once.
  Result<void> resume_in_call();
  Result<void> register_again();
  void place_links();
  void ask_for_owners();
  void end_life();

  // core_links.cc
  [[nodiscard]] Result<void> accept_link(control::AnnouncedLink& announced);
  void ask_for_postponed();
  void refuse(const control::AnnouncedLink& announced, std::string what);
  void report_refused();
  [[nodiscard]] Result<segment::Foreign> map_link(control::AnnouncedLink& announced);
  void set_owner_place(receive::InLink& link, std::uint32_t index);
  void find_lost_owners(Pid pid, std::uint32_t index);
  [[nodiscard]] std::unique_ptr<receive::InLink> make_in_link(
      segment::Foreign memory, const control::AnnouncedLink& announced);
  void connect_receipts(receive::InLink& link);
  void join_life(receive::InLink& link);
  void refresh_peer(Pid pid);
  class Ended;  // ended.h
  class Unasked;
  class NameWait;    // name_wait.h
  class RequestSet;  // request_set.h
  [[nodiscard]] std::optional<Peer> open_peer(Pid pid);
  [[nodiscard]] Pid find_pid(std::string_view name) const;
  Result<Peer> find_peer(Pid pid);
  Result<Peer> open_link(Pid pid);
  Result<Peer> open_link_unasked(Pid pid);
  [[nodiscard]] bool has_place(const send::OutLink& link) const;
  // Not everybody may have registered with a new coordinator yet.
  [[nodiscard]] bool is_placing() const { return os::monotonic_ns() < place_until_ns_; }
  [[nodiscard]] std::string why_denied(Pid pid);
  Result<send::OutLink*> add_out_link(Pid pid);
  Result<control::Opened> ask_open(send::OutLink& link, bool again);
  [[nodiscard]] send::OutLink* out_link(Pid pid);
  void learn_owner(control::AnnouncedLink& announced);
  void listen_to(std::uint64_t incarnation, os::UniqueFd bell);
  Result<void> learn_life(Pid pid, std::uint64_t incarnation, os::UniqueFd status,
                          os::UniqueFd event);
  void watch_peers();
  void make_send_path();

  // core_lies.cc
  void audit_links();
  void report_quarantined();
  void quarantine_false_receipts();  // of our own messages

  // core_family.cc
  void set_relation(receive::InLink& link);
  void watch_tree();
  void free_links();
  // Everybody above this agent, nearest first.
  [[nodiscard]] const std::vector<Pid>& superiors();
  void mark_sibling(send::OutLink& link);
  void open_parent_link();
  [[nodiscard]] bool lacks_parent_link(Pid peer);
  // REQUIRES: the send side is held.
  void show_to_parent(std::span<const std::byte> payload, const send::Envelope& envelope,
                      MessageId id, send::OutLink& to);

  // core_debts.cc
  void acknowledge(Subject about, AckStatus status, std::string_view reply);
  [[gnu::noinline]] bool is_owed_word(std::uint32_t entry, bool told);
  void owe(Debt debt);
  void pay_debts();
  [[nodiscard]] bool pay_each();
  [[nodiscard]] SendStatus pay(const Debt& debt);
  bool ask_to_ring(Pid peer);
  void stop_ringing(Pid to);
  std::size_t drop_debts();

  // core_request.cc
  Result<void> ask(Question& question, Bytes payload, const SendOptions& options, Deadline until);
  Result<void> prepare(Question& question, const SendOptions& options);
  [[nodiscard]] std::string why_mute(Peer to);
  [[nodiscard]] std::string absence(Peer to);
  void begin(Question& question);
  void end(Question& question);
  // A look, for the predicates of waits: an answer, or none to be expected any more.
  [[nodiscard]] bool is_settled(Question& question);
  // How it ended. Reads the control socket and the lanes once more where the receiver is dead.
  [[nodiscard]] QuestionState find_out(Question& question);
  [[nodiscard]] bool was_taken(const Question& question);
  [[nodiscard]] Result<std::uint32_t> await(Question& question);
  [[nodiscard]] Result<std::uint32_t> conclude(Question& question);
  [[nodiscard]] Result<std::uint32_t> conclude_left(Question& question);
  Deadline call_answered();  // returns when the next question ends
  [[nodiscard]] bool has_news();
  [[nodiscard]] Acknowledgement read_ack(std::uint32_t at);

  // core_serve.cc
  [[nodiscard]] std::uint32_t await_message(const ServeOptions& options, Deadline until);
  void handle(const MessageHandler& handler, Message& message);
  [[nodiscard]] bool is_leased(std::uint32_t entry, MessageId id) const;
  [[nodiscard]] bool is_deferred(std::uint32_t entry) const;
  [[nodiscard]] bool end_lease(std::uint32_t entry);

  // core_receive.cc, core_look.cc
  [[nodiscard]] static receive::Selection selection_of(const Filter& filter);
  [[nodiscard]] std::uint32_t take(const Filter& filter);
  [[nodiscard]] std::uint32_t take_alone(const Filter& filter);
  [[nodiscard]] std::uint32_t take_alone(receive::PendingReply& pending);
  // The next entry, leased, without waiting; kNoEntry if no lane holds any.
  [[nodiscard]] std::uint32_t look_for(const Filter& filter);
  [[nodiscard]] std::uint32_t look_now(const Filter& filter);
  // The same as a call of the user: in event mode the agent counts as asleep after it found none.
  [[nodiscard]] std::uint32_t try_take(const Filter& filter);
  [[nodiscard]] Result<Message> receive_later(const ReceiveOptions& options);
  [[nodiscard]] bool has_just_looked(std::uint64_t within_ticks) const;
  void let_gather();
  void look_at_all();
  [[nodiscard]] std::uint32_t look_again(const Filter& filter);
  // The same with a wait, which ends when `stop()` too, and when the hive goes down.
  template <typename Stop>
  [[nodiscard]] std::uint32_t wait_for(const Filter& filter, std::int64_t deadline_ns, Stop&& stop);
  // The message that was handed out last and is not finished; null if there is none.
  [[nodiscard]] const shm::Entry* handled() const;
  // It is being handled from now on: what is sent inherits from it.
  [[nodiscard]] Message hand_out(std::uint32_t entry);
  // What somebody has asked for: it is not handled, and what is sent goes on with what is.
  [[nodiscard]] Message hand_over(std::uint32_t entry);
  [[nodiscard]] InboxItem describe(std::uint32_t entry) const;

  // core_registry.cc
  [[nodiscard]] Result<std::vector<AgentInfo>> everybody();
  void show_activity();

  // What lies in the lanes is a successor's once this life has ended, and what it sends nobody's.
  bool drain_turn() { return still_counts() && receiver_->drain_turn(); }
  bool drain_all() { return still_counts() && receiver_->drain_all(); }
  bool drain_from(Pid pid) { return still_counts() && receiver_->drain_from(pid); }
  // One load: an agent that lost its connection for good hears of its end from nobody else.
  [[nodiscard]] bool still_counts() {
    if (has_ended()) return false;
    const auto word = shm::AgentWord::unpack(directory_view_.word(index_).observe());
    if (!shm::has_ended(word, incarnation_)) return true;
    end_life();
    return false;
  }
  // All that lies in the lanes. It ends after the first turn that is over later than this, however
  // much others go on sending.
  static constexpr std::int64_t kLongestDrain = 1'000'000'000;
  bool drain_fully(std::int64_t longest_ns = kLongestDrain);
  // The last look has left something to do, for which nobody rings.
  [[nodiscard]] bool goes_on() const {
    return flooded_ || hears_more_ || receiver_->links().owners().called() != 0 ||
           receiver_->is_searching() || receiver_->audit().is_skipping();
  }

  // core_wait.cc
  class Blocked;
  // Waits until `ready()`; meanwhile drains, and handles control messages before each block.
  template <typename Ready>
  bool wait_until(std::int64_t deadline_ns, Ready&& ready);
  // The same, asking `first()` before each turn, and for what a lane is no sign of: see Waiter.
  template <typename First, typename Ready, typename Glance>
  bool wait_with(std::int64_t deadline_ns, First&& first, Ready&& ready, Glance&& glance);
  void last_look();
  void arm();
  void arm_again();
  [[nodiscard]] std::int64_t longest_block() const;
  [[nodiscard]] std::int64_t next_payment_ns() const;
  [[nodiscard]] std::int64_t next_timer_ns() const;
  Result<void> make_timer();
  void set_timer();
  void disarm();
  void wake_up();  // says that it is awake, looks at the control socket where a clock has ticked
  void offer_room();
  void publish_pressure();

  // core_broadcast.cc
  [[nodiscard]] std::vector<Delivery> targets_of(const Group& group) const;
  [[nodiscard]] std::vector<Peer> open_targets(std::vector<Delivery>& targets);

  // core_send.cc
  [[gnu::always_inline]] [[nodiscard]] send::OutLink* link_of(Peer peer) {
    if (has_left() || peer.slot >= out_.size() || out_[peer.slot] == nullptr) return nullptr;
    return out_[peer.slot]->peer() == peer.pid ? out_[peer.slot].get() : nullptr;
  }
  [[nodiscard]] SendResult missing(Peer peer) const;
  SendResult send_now(send::OutLink& link, const send::Parcel& parcel,
                      const send::Envelope& envelope, MessageId id);
  [[gnu::always_inline]] void pass_on(send::OutLink& link, const send::Parcel& parcel,
                                      const send::Envelope& envelope, MessageId id,
                                      SendResult& result);
  // The same without a copy for the parent.
  SendResult send_unseen(send::OutLink& link, const send::Parcel& parcel,
                         const send::Envelope& envelope, MessageId id);
  [[nodiscard]] bool is_limited(send::OutLink& link, const send::Envelope& envelope);
  static void count_sent(send::OutLink& link, const send::Envelope& envelope);
  [[nodiscard]] bool has_settled(SendStatus status, const send::OutLink& link);
  [[nodiscard]] MessageId reserve_id();
  [[nodiscard]] bool look_for_receipts(Peer to);
  // One try; true when another one is of no use.
  [[gnu::always_inline]] [[nodiscard]] bool settle(Attempt& attempt);
  [[nodiscard]] bool settle_again(Attempt& attempt);
  void send_later(Attempt attempt, Deadline deadline);
  // `place`, unless null, is where the message lies when it was sent.
  SendResult send_as(const Letterhead& head, Peer to, const send::Parcel& parcel, Deadline deadline,
                     MessageId id, send::SentPlace* place = nullptr);
  SendResult send_parcel(Peer to, const send::Parcel& parcel, const SendOptions& options,
                         Deadline deadline, MessageId id);
  [[gnu::always_inline]] SendResult deliver(const send::Envelope& envelope, std::uint32_t hops,
                                            Peer to, const send::Parcel& parcel, Deadline deadline,
                                            MessageId id, send::SentPlace* place);
  [[nodiscard]] std::uint32_t step_from(const shm::Entry& message) const;
  [[nodiscard]] std::uint32_t step_of(const SendOptions& options, Peer to,
                                      const shm::Entry* about) const;
  template <typename Try>
  void wait_for_space(Peer to, Deadline deadline, Try&& attempt);
  void flush_shared();
  void learn_early(Peer to);
  // Holds the send side for the caller; free of cost while nobody shares it.
  [[gnu::always_inline]] [[nodiscard]] std::unique_lock<std::mutex> lock_send() {
    // relaxed: set by this thread, or before ours began
    if (!shared_.load(std::memory_order_relaxed)) return {};
    return std::unique_lock<std::mutex>(send_mutex_);
  }

  AttachOptions options_;
  std::string hive_;
  std::string name_;
  Pid pid_ = 0;
  Pid parent_ = 0;  // under the send mutex once shared
  std::uint64_t incarnation_ = 0;
  std::uint32_t index_ = 0;       // of our own place in the directory
  std::uint64_t tree_epoch_ = 0;  // of the directory, when relations were computed last
  shm::LinkContract contract_;    // of the links that we open
  limit::TokenBucket send_rate_;  // of each link that we open, full
  receive::Rates receive_rates_;
  std::uint32_t next_serial_ = 1;
  control::Client client_;
  segment::Foreign directory_;
  shm::DirectoryView directory_view_;
  News news_;  // of our place in it
  segment::Owned status_;
  wake::BellSet bells_;
  os::UniqueFd timer_;  // once it was needed: it is behind the fd of the user too
  bool timer_is_set_ = false;
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
  std::vector<std::uint32_t> leases_;    // being handled, what is sent now inherits from the last
  std::vector<std::uint32_t> deferred_;  // leased, their senders know that it takes longer
  std::vector<std::uint32_t> answered_;  // leased questions whose answers were sent
  Retries retries_;                      // leased, their attempts have failed
  std::vector<Message> held_;            // deferred, and left by their handlers
  Escalations escalations_{*this};
  std::vector<Question*> questions_;  // everything that something is to come back for
  std::vector<std::unique_ptr<Question>> open_questions_;  // of them those of request_then()
  std::deque<Debt> debts_;                                 // that found no room yet
  bool is_unrung_ = false;  // of them something waits for which nobody rings
  std::uint64_t acks_dropped_ = 0;
  std::vector<Pid> superiors_;         // nearest first, of ...
  std::uint64_t superiors_epoch_ = 0;  // ... this tree
  std::deque<Notice> notices_;
  std::uint64_t notices_dropped_ = 0;
  std::size_t notices_told_ = 0;                         // of them the fd was made readable for
  std::deque<std::pair<Pid, std::uint64_t>> told_ends_;  // lives of children, the newest
  PostponedLinks postponed_;
  bool hears_more_ = false;                      // the last turn has left announcements
  std::vector<control::ReportRequest> refused_;  // links whose refusal is not reported yet
  std::vector<shm::LinkKey> gone_;  // forgotten in-links, as the coordinator is still to be told
  std::unordered_map<std::string, KnownName> names_;
  std::uint64_t names_heard_ = 0;                           // see NameWait
  std::unordered_map<Pid, std::uint64_t> received_before_;  // through links that have faded
  receive::TypeText text_;                                  // what type_of and channel_of return
  shm::StringCopy channel_text_;
  std::int64_t control_tick_ns_ = 0;  // when the control socket was looked at last, coarse
  std::int64_t next_resume_ns_ = 0;
  std::int64_t resume_pause_ns_ = 0;
  bool is_silent_ = false;  // the coordinator, when it was waited for last
  bool unasked_ = false;    // see Unasked
  std::int64_t next_place_ns_ = std::numeric_limits<std::int64_t>::max();  // when to open again
  std::int64_t place_until_ns_ = 0;
  std::uint32_t links_to_come_ = 0;      // in-links that the coordinator is about to announce
  std::uint64_t all_known_of_ = 0;       // it knows every life from this incarnation on
  bool asks_for_owners_ = false;         // of links that it does not announce
  std::int64_t next_report_ns_ = 0;      // when to say again what was not taken, 0 = nothing
  std::int64_t successor_since_ns_ = 0;  // 0: nobody has to find us
  bool flooded_ = false;                 // the last look found no end
  std::int64_t belt_ns_ = 0;             // bound of the next block where a ring may not come
  static constexpr std::int64_t kNoToken = std::numeric_limits<std::int64_t>::max();
  std::int64_t again_ns_ = kNoToken;  // when what is waited with may be tried again
  std::uint32_t turns_ = 0;
  LookPace look_pace_;  // since a call of the user looked last and left something
  shm::AgentActivity shown_activity_ = shm::AgentActivity::kIdle;
  bool blocked_ = false;
  bool sleeping_ = false;  // the user said so
  bool leaving_ = false;   // waits until what it has sent is taken
  bool down_ = false;      // the hive went down, or this life has ended
  bool stop_serving_ = false;
  bool shows_parent_ = false;  // something is to be sent to a sibling
  std::int64_t next_parent_try_ns_ = 0;
  bool armed_ = false;  // event mode: counts as asleep while the user waits outside
  bool attached_ = false;
  bool is_forked_ = false;  // in a forked child
  std::atomic<bool> left_{false};
  ForkGuard fork_guard_{*this};
};

}  // namespace beeline
