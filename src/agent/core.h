#pragma once
// The parts of an Agent: one noun for each thing that it does. Each gets the nouns that it needs in
// its constructor. One thread, but for the send side, which a SharedSender may enter from other
// threads under the send lock.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/agent_list.h"
#include "src/agent/announcements.h"
#include "src/agent/arrivals.h"
#include "src/agent/broadcast.h"
#include "src/agent/dead_letters.h"
#include "src/agent/debts.h"
#include "src/agent/directory.h"
#include "src/agent/ended.h"
#include "src/agent/errands.h"
#include "src/agent/escalations.h"
#include "src/agent/executions.h"
#include "src/agent/family.h"
#include "src/agent/fork_guard.h"
#include "src/agent/foundation.h"
#include "src/agent/inbox_view.h"
#include "src/agent/intake.h"
#include "src/agent/leases.h"
#include "src/agent/leaving.h"
#include "src/agent/link_opener.h"
#include "src/agent/name_wait.h"
#include "src/agent/names.h"
#include "src/agent/notices.h"
#include "src/agent/open_questions.h"
#include "src/agent/own_life.h"
#include "src/agent/peer_links.h"
#include "src/agent/questions.h"
#include "src/agent/registration.h"
#include "src/agent/reports.h"
#include "src/agent/sender.h"
#include "src/agent/serving.h"
#include "src/agent/sleeper.h"
#include "src/agent/task_desk.h"
#include "src/agent/turn.h"
#include "src/agent/user_loop.h"

namespace beeline {

// The loops that handle all that comes: serve(), and one of the user's own with its calls in steps.
struct Loops {
  OpenQuestions questions;
  Executions executions;
  TaskDesk tasks;
  Serving serving;
  Errands errands;
  Leaving leaving;
  UserLoop outside;
};

class AgentCore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<AgentCore>> attach(const AttachOptions& options);
  // Moves the parts out of it.
  explicit AgentCore(Foundation& foundation);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  // ---- Identity ----
  [[nodiscard]] Pid pid() const { return life_.pid(); }
  [[nodiscard]] Pid parent() const { return family_.parent(); }
  [[nodiscard]] const std::string& name() const { return life_.name(); }
  [[nodiscard]] shm::Incarnation incarnation() const { return life_.incarnation(); }

  // ---- The nouns that the public calls go to ----
  [[nodiscard]] Sender& sender() { return sender_; }
  [[nodiscard]] Names& names() { return names_; }
  [[nodiscard]] Intake& intake() { return intake_; }
  [[nodiscard]] Leases& leases() { return leases_; }
  [[nodiscard]] Questions& questions() { return questions_; }
  [[nodiscard]] Escalations& escalations() { return escalations_; }
  [[nodiscard]] OpenQuestions& open_questions() { return loops_.questions; }
  [[nodiscard]] Executions& executions() { return loops_.executions; }
  [[nodiscard]] TaskDesk& task_desk() { return loops_.tasks; }
  [[nodiscard]] const TaskDesk& task_desk() const { return loops_.tasks; }
  [[nodiscard]] Serving& serving() { return loops_.serving; }
  [[nodiscard]] Errands& errands() { return loops_.errands; }
  [[nodiscard]] Leaving& leaving() { return loops_.leaving; }
  [[nodiscard]] UserLoop& user_loop() { return loops_.outside; }
  [[nodiscard]] DeadLetters& letters() { return letters_; }
  [[nodiscard]] PeerLinks& links() { return links_; }
  [[nodiscard]] const Family& family() const { return family_; }
  [[nodiscard]] const receive::Receiver& receiver() const { return receiver_; }

  // ---- Calls of several nouns ----
  [[nodiscard]] Result<Peer> wait_for(std::string_view name, Deadline deadline,
                                      const WaitOptions& options);
  [[nodiscard]] std::vector<Delivery> broadcast(const Group& group,
                                                std::span<const std::byte> payload,
                                                const SendOptions& options);
  [[nodiscard]] InboxView inbox_view();
  [[nodiscard]] InboxCounters counters() { return inbox_view().counters(debts_, notices_); }
  [[nodiscard]] AgentList agent_list() { return {life_, client_, registration_, family_}; }
  [[nodiscard]] std::optional<Notice> next_notice();
  [[nodiscard]] int event_fd() { return sleeper_.event_fd(); }
  void set_sleeping(bool sleeping);
  void share() { life_.share(); }

  // ---- Its life ----
  // One turn: everything that is due, in the order in which it builds on each other.
  void take_turn();
  std::uint64_t detach(Deadline drain_until) { return loops_.leaving.detach(drain_until); }
  // Runs inside fork(): system calls alone.
  void become_a_copy();

 private:
  // Takes over from a predecessor, or shows the coordinator a first life.
  Result<void> begin(control::Attached& attached);

  Notices notices_;
  OwnLife life_;
  Directory directory_;
  control::Client client_;
  receive::Receiver receiver_;
  Sleeper sleeper_;
  PeerLinks links_;
  LinkOpener opener_;
  Arrivals arrivals_;
  Ended ended_;
  Reports reports_;
  Registration registration_;
  Announcements announcements_;
  Family family_;
  Names names_;
  Sender sender_;
  Leases leases_;
  Debts debts_;
  Escalations escalations_;
  Questions questions_;
  Intake intake_;
  Loops loops_;
  DeadLetters letters_;
  Turn turn_;
  ForkGuard fork_guard_{*this};
};

}  // namespace beeline
