#include "tools/beeline/spool_feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "tools/beeline/output.h"
#include "tools/beeline/session.h"
#include "tools/beeline/spool_feed_note.h"
#include "tools/beeline/spool_options.h"

namespace beeline::cli {
namespace {

// Between looks for requests of earlier lives that ended without an answer. Doubles each time.
constexpr std::chrono::milliseconds kShortestLookPause{100};
constexpr std::chrono::seconds kLongestLookPause{30};
constexpr std::chrono::seconds kAfterTrouble{1};
constexpr std::chrono::minutes kBetweenBeats{1};
constexpr std::chrono::hours kBetweenSweeps{1};
constexpr std::chrono::seconds kLongestIdleTurn{10};
// Without --task-timeout an answer may take as long as it likes.
constexpr std::chrono::hours kNoTimeout{24 * 365};
constexpr unsigned kCountBits = 40;  // of a MessageId

}  // namespace

SpoolFeed::~SpoolFeed() {
  for (Job& job : jobs_) {
    if (job.verdict && job.verdict->answer.valid()) job.verdict->answer.put_back();
    job.claim.keep();
  }
}

ExitCode SpoolFeed::run() {
  const auto self = agent_.info();
  if (!self) return complain(self.error());
  home_ = fmt::format("{}@{}", self->pid, self->started_unix_ns);
  if (auto adopted = adopt(); !adopted) return complain(adopted.error());
  if (auto found = find_requests(); !found) return complain(found.error());
  // Ids of messages rise from life to life. One message to ourselves tells where this life is, so
  // that no message of an earlier one is taken for a request of this one.
  const SendResult first = agent_.send(agent_.pid(), "");
  if (!first) return complain(first, agent_.name());
  last_sent_ = first.id;
  for (;;) {
    const bool has_ended = agent_.loop().poll().ended || has_shut_down(agent_);
    // SUBTLE: answers that poll() has found and nobody has taken are lost when the agent leaves.
    take_answers();
    if (has_ended) {
      (void)stop();
      return complain(ExitCode::kNoCoordinator, went_down(context_.hive));
    }
    if (signals_.take()) return stop();
    settle_adopted();
    sweep_if_due();
    beat();
    write_held_back();
    const bool has_fed = feed_one();
    tell_remarks(spool_);
    if (is_done()) return ExitCode::kOk;
    if (!has_fed) wait();
  }
}

bool SpoolFeed::is_done() const { return arguments_.once && is_empty_ && jobs_.empty(); }

ExitCode SpoolFeed::stop() {
  const std::size_t asked = count([](const Job& job) { return job.stage != Stage::kUnsent; });
  remark(
      fmt::format("stopped: {} tasks have ended, {} are with \"{}\"; the next feeder that is "
                  "named \"{}\" goes on",
                  ended_, asked, arguments_.to, agent_.name()));
  return arguments_.once ? ExitCode::kError : ExitCode::kOk;
}

std::size_t SpoolFeed::count(bool (*is_counted)(const Job&)) const {
  return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), is_counted));
}

void SpoolFeed::drop_ended() {
  std::erase_if(jobs_, [](const Job& job) { return !job.claim.valid(); });
}

// ---- The life before ----------------------------------------------------------------------------

spool::Outcome<void> SpoolFeed::adopt() {
  auto claims = spool_.take_over();
  if (!claims) return tl::unexpected(claims.error());
  for (spool::Claim& claim : *claims) adopt(std::move(claim));
  drop_ended();
  if (!jobs_.empty()) remark(fmt::format("goes on with {} tasks of its last life", jobs_.size()));
  return {};
}

void SpoolFeed::adopt(spool::Claim claim) {
  const auto note = FeedNote::read(claim.note());
  Job& job = jobs_.emplace_back(Job{.claim = std::move(claim)});
  if (!note) return;
  if (note->home != home_) {
    return conclude(job, {Way::kRetry, "the hive of the request is gone; \"" + arguments_.to +
                                           "\" may have acted on the task"});
  }
  job.to = note->to;
  job.after = note->after;
  job.message = note->message;
  job.stage = note->message != 0 ? Stage::kAdopted : Stage::kUnknown;
  if (!arguments_.task_timeout) return;
  const std::chrono::seconds claimed_at(job.claim.task().claimed_at);
  job.end =
      after(claimed_at + *arguments_.task_timeout - std::chrono::nanoseconds(os::realtime_ns()));
}

// A request that an earlier life was about to send was sent if something about it has come back. An
// acknowledgement is seen only before this life takes its first message.
Result<void> SpoolFeed::find_requests() {
  if (count([](const Job& job) { return job.stage == Stage::kUnknown; }) == 0) return {};
  LookOptions look;
  look.hive = context_.hive;
  const auto own = look_into_inbox(fmt::format("{}", agent_.pid()), look);
  if (!own) return tl::unexpected(own.error());
  for (Job& job : jobs_) {
    if (job.stage != Stage::kUnknown) continue;
    const auto found = std::find_if(
        own->messages.begin(), own->messages.end(),
        [&](const SeenMessage& message) { return is_about(job, message.from, message.reply_to); });
    if (found != own->messages.end()) learn_request(job, found->reply_to);
  }
  return {};
}

// Such a message can be about a request that this job was about to send.
bool SpoolFeed::is_about(const Job& job, Pid from, MessageId about) const {
  return from == job.to && about > job.after && about >> kCountBits == agent_.pid();
}

void SpoolFeed::learn_request(Job& job, MessageId id) {
  job.message = id;
  job.stage = Stage::kAdopted;
  job.is_noted = false;
}

// Finds out how requests of earlier lives have ended. It looks into the agents' inboxes first,
// then at the answers: a request that has left the one has left its answer in the other.
void SpoolFeed::settle_adopted() {
  const auto now = Clock::now();
  if (now < next_settle()) return;
  look_pause_ =
      std::clamp<std::chrono::nanoseconds>(2 * look_pause_, kShortestLookPause, kLongestLookPause);
  next_look_ = now + look_pause_;
  const auto seen = look_at_receivers();
  if (!seen) return tell_trouble(seen.error().text);
  (void)agent_.loop().poll();
  take_answers();
  for (Job& job : jobs_) {
    if (job.is_adopted()) settle(job, seen->at(job.to));
  }
  drop_ended();
}

Deadline SpoolFeed::next_settle() const {
  Deadline next = Deadline::max();
  for (const Job& job : jobs_) {
    if (job.is_adopted()) next = std::min({next, next_look_, job.end});
  }
  return std::max(next, next_try_);
}

// Nothing in place of the inbox of an agent that is finally dead.
Result<SpoolFeed::Inboxes> SpoolFeed::look_at_receivers() const {
  LookOptions look;
  look.hive = context_.hive;
  Inboxes all;
  for (const Job& job : jobs_) {
    if (!job.is_adopted() || all.contains(job.to)) continue;
    auto seen = look_into_inbox(fmt::format("{}", job.to), look);
    if (!seen && seen.error().code != ErrorCode::kNoAgent) return tl::unexpected(seen.error());
    all[job.to] = seen ? std::optional(std::move(*seen)) : std::nullopt;
  }
  return all;
}

void SpoolFeed::settle(Job& job, const std::optional<SeenInbox>& seen) {
  if (!seen) {
    return conclude(job, {Way::kRetry, fmt::format("agent {}, which had the task, is gone; it may "
                                                   "have acted on it",
                                                   job.to)});
  }
  const auto found =
      std::find_if(seen->messages.begin(), seen->messages.end(), [&](const SeenMessage& message) {
        if (message.from != agent_.pid() || message.type != kTaskRequest) return false;
        return job.message != 0 ? message.id == job.message : message.id > job.after;
      });
  const bool is_there = found != seen->messages.end();
  if (!is_there && job.stage == Stage::kAdopted) {
    return end_without_answer(job, {ErrorCode::kUnanswered, 0, {}});
  }
  if (!is_there) {
    // Never sent. The old note would be wrong as soon as another request is sent.
    job.is_noted = false;
    job.stage = Stage::kUnsent;
    return;
  }
  if (found->dead) {
    return conclude(job, {Way::kFail, fmt::format("\"{}\" made it a dead letter: {}", seen->name,
                                                  found->reason)});
  }
  if (job.stage == Stage::kUnknown) {
    learn_request(job, found->id);
  }
  if (Clock::now() < job.end) return;
  (void)agent_.cancel(job.to, job.message);
  end_without_answer(job, {ErrorCode::kTimeout, 0, "no answer in the time of --task-timeout"});
}

// ---- Answers ------------------------------------------------------------------------------------

void SpoolFeed::take_answers() {
  while (auto answered = agent_.loop().next_answer()) {
    const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const Job& each) { return each.message == answered->id; });
    if (job == jobs_.end()) continue;
    if (answered->answer) {
      conclude(*job, FeedVerdict::of(std::move(*answered->answer)));
    } else {
      end_without_answer(*job, answered->answer.error());
    }
  }
  while (auto message = agent_.try_receive()) take_late_answer(std::move(*message));
  for (Message& message : agent_.drain_pending_results()) take_late_answer(std::move(message));
  drop_ended();
}

// An answer to a request of an earlier life, or of one that has ended for us.
void SpoolFeed::take_late_answer(Message message) {
  const MessageId about = message.reply_to();
  const auto job = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& each) {
    if (!each.is_adopted()) return false;
    if (each.stage == Stage::kUnknown) return is_about(each, message.from(), about);
    return message.from() == each.to && about == each.message;
  });
  if (job != jobs_.end()) return conclude(*job, FeedVerdict::of(std::move(message)));
  if (!message.is_copy() && message.from() != agent_.pid()) {
    remark(fmt::format("drops a message of \"{}\" that answers no task it has",
                       safe_text(message.from_name())));
  }
  message.done();
}

void SpoolFeed::end_without_answer(Job& job, const Error& error) {
  // The hive went down: the next life finds out.
  if (error.code == ErrorCode::kClosed) return;
  conclude(job, FeedVerdict::without_answer(error, arguments_.task_timeout.has_value()));
}

void SpoolFeed::conclude(Job& job, FeedVerdict verdict) {
  job.verdict = std::move(verdict);
  write(job);
}

// Ends the claim. If the folder takes nothing now, the verdict is kept for the next try.
void SpoolFeed::write(Job& job) {
  FeedVerdict& verdict = *job.verdict;
  const spool::Task task = job.claim.task();
  std::optional<spool::Failure> failure;
  if (verdict.way == Way::kComplete) {
    if (auto done = job.claim.complete(verdict.completion); !done) failure = done.error();
    if (failure && failure->code == spool::Code::kInvalidTask) {
      verdict.way = Way::kFail;
      verdict.error = "the answer is no result: " + failure->text;
      return write(job);
    }
  } else if (verdict.way == Way::kFail) {
    if (auto done = job.claim.fail(verdict.error); !done) failure = done.error();
  } else {
    auto waits = job.claim.retry(verdict.error);
    if (!waits) failure = waits.error();
    if (waits && !*waits) verdict.way = Way::kFail;
  }
  if (job.claim.valid()) return tell_trouble(failure ? failure->text : "");
  if (verdict.answer.valid()) verdict.answer.done();
  if (failure) return remark(safe_text(failure->text));
  report(task, verdict);
}

void SpoolFeed::report(const spool::Task& task, const FeedVerdict& verdict) {
  const std::string id = safe_text(task.id);
  if (verdict.way == Way::kRetry) {
    is_empty_ = false;
    return remark(fmt::format("task \"{}\" waits again: {}", id, safe_text(verdict.error)));
  }
  ++ended_;
  const bool is_failed = verdict.way == Way::kFail;
  if (is_failed) remark(fmt::format("task \"{}\" has failed: {}", id, safe_text(verdict.error)));
  if (!context_.json) {
    print(fmt::format("{} {}\n", is_failed ? "failed" : "completed", id));
    return;
  }
  Json line{{"id", task.id}, {"status", is_failed ? "failed" : verdict.completion.status}};
  if (is_failed) {
    line["error"] = verdict.error;
  } else {
    line["verdict"] = verdict.completion.verdict;
    line["verdict_reason"] = verdict.completion.verdict_reason;
  }
  print_json(line);
}

// ---- Requests -----------------------------------------------------------------------------------

// Claims a task, or sends one. False: there is nothing to do now.
bool SpoolFeed::feed_one() {
  if (Clock::now() < next_try_) return false;
  // The ids of new requests would be taken for that of this one.
  if (count([](const Job& job) { return job.stage == Stage::kUnknown; }) != 0) return false;
  for (Job& job : jobs_) {
    if (!job.verdict && !job.is_noted && !note(job)) {
      drop_ended();
      return false;
    }
  }
  const auto to = find_agent();
  if (!to) {
    if (!arguments_.once) return false;
    const auto waiting = spool_.list(spool::Folder::kInbox);
    is_empty_ = waiting && waiting->empty();
    return false;
  }
  const auto is_unsent = [](const Job& job) { return job.stage == Stage::kUnsent && !job.verdict; };
  const auto unsent = std::find_if(jobs_.begin(), jobs_.end(), is_unsent);
  if (unsent == jobs_.end()) return jobs_.size() < arguments_.parallel && claim_one();
  if (jobs_.size() - count(is_unsent) >= arguments_.parallel) return false;
  const bool is_sent = send(*unsent, *to);
  drop_ended();
  return is_sent;
}

// A task that is claimed for an agent that is not there would only use up its attempts.
std::optional<Peer> SpoolFeed::find_agent() {
  const auto peer = agent_.peer(arguments_.to);
  if (peer) {
    is_there_ = true;
    return *peer;
  }
  if (std::exchange(is_there_, false)) remark(fmt::format("waits: {}", peer.error().text));
  if (finding_) return std::nullopt;
  const auto finding = agent_.loop().find_peer(arguments_.to, Deadline::max());
  if (finding) finding_ = *finding;
  if (!finding) tell_trouble(finding.error().text);
  return std::nullopt;
}

bool SpoolFeed::claim_one() {
  auto claim = spool_.try_claim();
  is_empty_ = !claim && claim.error().code == spool::Code::kNoTasks;
  if (claim)
    jobs_.push_back({.claim = std::move(*claim)});
  else if (!is_empty_)
    tell_trouble(claim.error().text);
  return claim.has_value();
}

bool SpoolFeed::send(Job& job, Peer to) {
  job.to = to.pid;
  job.after = last_sent_;
  if (!write_note(job, note_text(job))) return false;
  SendOptions options;
  options.type = kTaskRequest;
  options.inherit = false;
  options.cancel_on_timeout = true;
  const Deadline end = after(arguments_.task_timeout.value_or(kNoTimeout));
  const auto sent = agent_.loop().request(to, to_json(job.claim.task()), end, options);
  if (!sent) {
    const std::string& why = sent.error().text;
    if (sent.error().code == ErrorCode::kTooBig) {
      conclude(job, {Way::kFail, why});
      return true;
    }
    if (sent.error().code == ErrorCode::kFull) (void)agent_.loop().want_space(to, true);
    tell_trouble(why);
    return false;
  }
  last_sent_ = job.message = *sent;
  job.stage = Stage::kAsked;
  return note(job);
}

// Says in the claim whether its request was sent. False: it says nothing, or the claim is lost.
bool SpoolFeed::note(Job& job) { return write_note(job, job.message == 0 ? "" : note_text(job)); }

std::string SpoolFeed::note_text(const Job& job) const {
  return FeedNote{home_, job.to, job.after, job.message}.text();
}

bool SpoolFeed::write_note(Job& job, const std::string& text) {
  const auto written = job.claim.write_note(text);
  job.is_noted = written.has_value();
  if (written) return true;
  if (written.error().code == spool::Code::kInvalidTask) {
    conclude(job, {Way::kFail, written.error().text});
  } else if (written.error().code == spool::Code::kTaskNotFound) {
    lose(job, written.error());
  } else {
    tell_trouble(written.error().text);
  }
  return false;
}

// Another worker has the task now.
void SpoolFeed::lose(Job& job, const spool::Failure& why) {
  remark(safe_text(why.text));
  const bool is_open = job.stage == Stage::kAsked && agent_.loop().forget(job.message);
  if (!is_open && job.message != 0) (void)agent_.cancel(job.to, job.message);
  job.claim.keep();
}

// ---- Time ---------------------------------------------------------------------------------------

// Says it once; the next try is later.
void SpoolFeed::tell_trouble(std::string_view text) {
  next_try_ = Clock::now() + kAfterTrouble;
  is_empty_ = false;
  if (text == trouble_) return;
  trouble_ = text;
  remark(safe_text(text));
}

void SpoolFeed::write_held_back() {
  if (Clock::now() < next_try_) return;
  for (Job& job : jobs_) {
    if (job.verdict) write(job);
  }
  drop_ended();
}

void SpoolFeed::beat() {
  const auto now = Clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + kBetweenBeats;
  for (Job& job : jobs_) {
    const auto alive = job.claim.heartbeat();
    if (!alive && alive.error().code == spool::Code::kTaskNotFound) {
      lose(job, alive.error());
    } else if (!alive) {
      tell_trouble(alive.error().text);
    }
  }
  drop_ended();
}

void SpoolFeed::sweep_if_due() {
  const auto now = Clock::now();
  if (now < next_sweep_) return;
  next_sweep_ = now + kBetweenSweeps;
  if (const auto swept = spool_.sweep(); !swept) tell_trouble(swept.error().text);
}

// Sleeps until there is something to do. SUBTLE: poll() comes last, because other calls may take
// the wake-up.
void SpoolFeed::wait() {
  EventLoop loop = agent_.loop();
  const Readiness found = loop.poll();
  while (const auto peer = loop.next_peer()) {
    finding_.reset();
    if (!peer->peer) tell_trouble(peer->peer.error().text);
  }
  while (loop.next_space()) next_try_ = {};
  if (found.messages + found.answers + found.peers + found.spaces != 0) return;
  if (found.notices || found.ended) return;
  const auto now = Clock::now();
  Deadline end = std::min<Deadline>(
      {found.next, now + kLongestIdleTurn, next_beat_, next_sweep_, next_settle()});
  if (next_try_ > now) end = std::min(end, next_try_);
  bool has_unsent = false;
  for (const Job& job : jobs_) {
    has_unsent = has_unsent || job.stage == Stage::kUnsent;
  }
  std::vector<int> fds{agent_.fd(), signals_.fd()};
  if (is_there_ && !has_unsent && now >= next_try_ && jobs_.size() < arguments_.parallel) {
    const int folder = spool_.fd();
    if (folder >= 0) fds.push_back(folder);
    const bool is_told = folder >= 0 && !spool_.options().shared;
    if (!is_told) end = std::min<Deadline>(end, now + spool_.options().poll_every);
  }
  (void)os::poll_readable(fds, end - now);
}

}  // namespace beeline::cli
