#pragma once
// Conversation: requests and their answers, and the acknowledgements of others.

#include <span>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/directory.h"
#include "src/agent/peer_links.h"
#include "src/agent/question.h"
#include "src/control/client.h"

namespace beeline {

class Announcements;
class Debts;
class Intake;
class Leases;
class Letterhead;
class Names;
class Registration;
class Sender;
class Sleeper;
class Turn;

class Questions {
 public:
  using Bytes = std::span<const std::byte>;
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    receive::Receiver& receiver;
    PeerLinks& links;
    Names& names;
    Registration& registration;
    Announcements& announcements;
    Sender& sender;
    Leases& leases;
    Debts& debts;
    Sleeper& sleeper;
    Intake& intake;
    Turn& turn;
  };
  explicit Questions(const Needs& needs);

  [[nodiscard]] Result<Message> request(Peer to, Bytes payload, Deadline deadline,
                                        const SendOptions& options);
  std::vector<Result<Message>> request_all(std::span<const Request> requests, Deadline deadline);
  // The entry of the answer, leased, or the reason why there is none; of each request in their
  // order. `mark`, unless empty, is called with each question before it is sent.
  [[nodiscard]] std::vector<Result<shm::EntryIndex>> ask_all(std::span<const Request> requests,
                                                             Deadline deadline,
                                                             const Marking& mark);
  // The same of one question.
  [[nodiscard]] Result<shm::EntryIndex> ask_and_await(Question& question, Bytes payload,
                                                      const SendOptions& options);
  SendResult fire_and_forget(Peer to, Bytes payload, const SendOptions& options);
  [[nodiscard]] std::vector<Message> drain_pending_results();
  [[nodiscard]] Result<Acknowledgement> await_ack(Peer to, MessageId id, Deadline deadline);
  [[nodiscard]] Result<Acknowledgement> send_acked(Peer to, Bytes payload, Deadline deadline,
                                                   const SendOptions& options);

  // Something is to come back from this agent.
  [[nodiscard]] bool has_one_to(Pid pid) const;

  // ---- The steps, for several questions at once ----
  // Begins it and sends its message, waiting for room until then.
  Result<void> ask(Question& question, Bytes payload, const SendOptions& options, Deadline until);
  // Begins it where nothing is wrong with it: then it may be sent.
  Result<void> prepare(Question& question, const SendOptions& options);
  // A look, for the predicates of waits: an answer, or none to be expected any more.
  [[nodiscard]] bool is_settled(Question& question);
  // The entry of the answer, leased, or the reason why none comes. The question ends.
  [[nodiscard]] Result<shm::EntryIndex> conclude(Question& question);
  void end(Question& question);
  // The child has said something about the task that this question is.
  [[nodiscard]] static bool has_progress(const Question& question) {
    return question.pending.reports != 0;
  }
  // Passes the oldest of that on. The question may have ended when it returns, by the handler.
  void tell_progress(Question& question);
  // The result in this entry, which ends.
  [[nodiscard]] Result<TaskResult> read_result(Result<shm::EntryIndex> at);
  // The acknowledgement in this entry, which ends.
  [[nodiscard]] Acknowledgement read_ack(shm::EntryIndex at);

 private:
  [[nodiscard]] std::string why_mute(Peer to);
  [[nodiscard]] std::string absence(Peer to);
  void begin(Question& question);
  [[nodiscard]] static bool has_lost_task(Question& question, const send::OutLink& link);
  // How it ended. Reads the control socket and the lanes once more where the receiver is dead.
  [[nodiscard]] QuestionState find_out(Question& question);
  [[nodiscard]] bool was_taken(const Question& question);
  [[nodiscard]] Result<shm::EntryIndex> await(Question& question);
  [[nodiscard]] Result<shm::EntryIndex> conclude_left(Question& question);

  OwnLife& life_;
  const Directory& directory_;
  control::Client& client_;
  receive::Receiver& receiver_;
  PeerLinks& links_;
  Names& names_;
  Registration& registration_;
  Announcements& announcements_;
  Sender& sender_;
  Leases& leases_;
  Debts& debts_;
  Sleeper& sleeper_;
  Intake& intake_;
  Turn& turn_;
  std::vector<Question*> questions_;  // everything that something is to come back for
};

}  // namespace beeline
