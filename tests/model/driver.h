#pragma once
// Gives puppets commands, tells the model, and kills puppets between commands and inside of them.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/model/mailbox_model.h"
#include "tests/model/puppet.h"
#include "tests/model/step.h"
#include "tests/support/scratch_hive.h"
#include "tests/support/troupe.h"

namespace beeline::test {

class Driver {
 public:
  Driver(ScratchHive& hive, Troupe& troupe, PuppetBoard& board)
      : hive_(hive), troupe_(troupe), board_(board) {}

  // Starts puppets for the whole tree except the newcomers.
  void set_up(std::mt19937_64& random);
  // Takes a step. False if a rule was broken; the test reports it.
  bool take(const Step& step);
  // Every agent comes back and takes all messages; then nothing is left anywhere.
  bool gather();
  // Every agent leaves.
  void close();

  [[nodiscard]] std::string story() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // How often each kind of step had an effect.
  [[nodiscard]] std::uint64_t count(StepKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }

 private:
  struct Seat {
    ModelAgent agent;  // as it attaches
    Pid pid = 0;       // 0: free
    bool started = false;
    std::size_t place = 0;  // in the troupe
  };

  void note(const std::string& event);
  bool settle();

  // ---- Puppets ----
  PuppetAnswer& ask(Seat& seat, PuppetCommand command);
  void give(Seat& seat, const PuppetCommand& command);
  [[nodiscard]] static PuppetCommand command(Verb verb) {
    PuppetCommand made{};
    made.verb = verb;
    return made;
  }
  void join(Seat& seat);
  void kill(Seat& seat);
  void await_ends();
  [[nodiscard]] bool runs(const Seat& seat) const;
  [[nodiscard]] Seat* running(std::uint32_t number);
  [[nodiscard]] ModelAgent& model_of(const Seat& seat) { return model_.agent(seat.pid); }

  // ---- Steps ----
  [[nodiscard]] Pid target(const Seat& seat, const Step& step) const;
  [[nodiscard]] Draft draft_of(const Seat& seat, const Step& step);
  PuppetCommand send_command(Verb verb, Pid to, const Draft& draft, const Step& step) const;
  bool send(Seat& seat, const Step& step);
  bool broadcast(Seat& seat, const Step& step);
  bool cancel(Seat& seat, const Step& step);
  bool reply(Seat& seat, const Step& step);
  void look(Seat& seat);
  bool receive(Seat& seat);
  bool finish(Seat& seat, StepKind kind, std::uint32_t what);
  bool finish(Seat& seat, StepKind kind, MessageId id);
  bool may_escalate(const Seat& seat);
  bool drain_results(Seat& seat);
  bool await_ack(Seat& seat, std::uint32_t what);
  bool revive(Seat& seat, std::uint32_t what);
  bool kill_inside(Seat& seat, const Step& step);
  bool leave(Seat& seat);
  bool restart(std::uint32_t number);
  bool newcomer(const Step& step);
  bool act(Seat& seat, const Step& step);
  bool gather_from(Seat& seat);
  void await_letters();
  [[nodiscard]] std::string missing_letters() const;

  ScratchHive& hive_;
  Troupe& troupe_;
  PuppetBoard& board_;
  MailboxModel model_;
  std::vector<Seat> seats_ = std::vector<Seat>(kMostPuppets);
  std::uint32_t permanent_ = 0;
  std::uint32_t newcomers_ = 0;
  std::uint64_t steps_ = 0;
  std::map<Pid, std::uint32_t> escalated_by_;  // to the coordinator
  std::uint32_t escalated_ = 0;                // by all agents
  std::vector<MessageId> sent_;                // messages that may be cancelled
  std::vector<Pid> sent_to_;
  std::vector<std::uint64_t> counts_ =
      std::vector<std::uint64_t>(static_cast<std::size_t>(StepKind::kCount));
  std::deque<std::string> events_;
  std::string failure_;
};

}  // namespace beeline::test
