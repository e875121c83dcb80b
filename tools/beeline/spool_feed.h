#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <beeline/agent.h>
#include <beeline/inbox.h>
#include <beeline/spool.h>

#include "tools/beeline/options.h"
#include "tools/beeline/signals.h"
#include "tools/beeline/spool_feed_verdict.h"

namespace beeline::cli {

struct FeedArguments {
  std::string to;            // the agent that does the tasks
  std::size_t parallel = 1;  // most tasks with it
  std::optional<std::chrono::nanoseconds> task_timeout;
  bool once = false;  // ends when the folder is empty
};

// `beeline spool feed` after its attach: gives the tasks of a folder to an agent, and writes its
// answers as results.
//
// A claim's note says whether its request was sent, so the next life of a killed feeder does not
// send it twice: it looks into the agent's inbox, then at the answers that wait for it.
class SpoolFeed {
 public:
  // All arguments must outlive this object.
  SpoolFeed(const Context& context, const FeedArguments& arguments, Agent& agent,
            spool::Spool& spool, Signals& signals)
      : context_(context), arguments_(arguments), agent_(agent), spool_(spool), signals_(signals) {}
  SpoolFeed(const SpoolFeed&) = delete;
  SpoolFeed& operator=(const SpoolFeed&) = delete;
  // Leaves the claims, and the answers that were not written, to the next life.
  ~SpoolFeed();

  [[nodiscard]] ExitCode run();

 private:
  using Clock = std::chrono::steady_clock;

  enum class Stage : std::uint8_t {
    kUnsent,
    kAsked,    // this life has sent it
    kAdopted,  // an earlier life has sent it
    kUnknown,  // an earlier life was about to send it
  };
  using Way = FeedVerdict::Way;

  // A task that this feeder has.
  struct Job {
    spool::Claim claim;
    Stage stage = Stage::kUnsent;
    Pid to = 0;                      // the agent that was asked
    MessageId message = 0;           // the request; 0: not sent, as far as we know
    MessageId after = 0;             // an id below that of the request
    bool is_noted = true;            // the note says whether it was sent
    Deadline end = Deadline::max();  // of the wait for the answer, if an earlier life has sent it
    std::optional<FeedVerdict> verdict{};
    [[nodiscard]] bool is_adopted() const {
      return !verdict && (stage == Stage::kAdopted || stage == Stage::kUnknown);
    }
  };
  using Inboxes = std::map<Pid, std::optional<SeenInbox>>;

  // ---- The life before ----
  [[nodiscard]] spool::Outcome<void> adopt();
  void adopt(spool::Claim claim);
  [[nodiscard]] Result<void> find_requests();
  [[nodiscard]] bool is_about(const Job& job, Pid from, MessageId about) const;
  static void learn_request(Job& job, MessageId id);
  void settle_adopted();
  [[nodiscard]] Deadline next_settle() const;
  [[nodiscard]] Result<Inboxes> look_at_receivers() const;
  void settle(Job& job, const std::optional<SeenInbox>& seen);

  // ---- Answers ----
  void take_answers();
  void take_late_answer(Message message);
  void end_without_answer(Job& job, const Error& error);
  void conclude(Job& job, FeedVerdict verdict);
  void write(Job& job);
  void report(const spool::Task& task, const FeedVerdict& verdict);

  // ---- Requests ----
  [[nodiscard]] bool feed_one();
  [[nodiscard]] std::optional<Peer> find_agent();
  [[nodiscard]] bool claim_one();
  [[nodiscard]] bool send(Job& job, Peer to);
  [[nodiscard]] bool note(Job& job);
  [[nodiscard]] std::string note_text(const Job& job) const;
  [[nodiscard]] bool write_note(Job& job, const std::string& text);
  void lose(Job& job, const spool::Failure& why);

  // ---- The loop ----
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] ExitCode stop();
  [[nodiscard]] std::size_t count(bool (*is_counted)(const Job&)) const;
  void drop_ended();
  void write_held_back();
  void beat();
  void sweep_if_due();
  void tell_trouble(std::string_view text);
  void wait();

  const Context& context_;
  const FeedArguments& arguments_;
  Agent& agent_;
  spool::Spool& spool_;
  Signals& signals_;
  std::list<Job> jobs_;
  std::string home_;         // of this agent, in this life of the hive
  MessageId last_sent_ = 0;  // every later id is above it
  std::optional<CallId> finding_;
  bool is_there_ = true;   // the agent, at the last look
  bool is_empty_ = false;  // the folder, at the last look
  std::uint64_t ended_ = 0;
  std::string trouble_;  // the last that was told
  std::chrono::nanoseconds look_pause_{0};
  Clock::time_point next_look_{};
  Clock::time_point next_try_{};  // after a failure
  Clock::time_point next_beat_{};
  Clock::time_point next_sweep_{};
};

}  // namespace beeline::cli
