#include "src/agent/questions.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "shm/check.h"
#include "src/agent/announcements.h"
#include "src/agent/debts.h"
#include "src/agent/directory_tree.h"
#include "src/agent/intake.h"
#include "src/agent/leases.h"
#include "src/agent/letterhead.h"
#include "src/agent/names.h"
#include "src/agent/registration.h"
#include "src/agent/request_set.h"
#include "src/agent/send_facts.h"
#include "src/agent/sender.h"
#include "src/agent/sleeper.h"
#include "src/agent/status.h"
#include "src/agent/task_codec.h"
#include "src/agent/turn.h"
#include "src/control/agent_info.h"
#include "src/control/routing.h"

namespace beeline {

namespace {

std::string whom(const Question& question) {
  return "message " + id_text(question.pending.request_id) + " to agent " +
         std::to_string(question.to.pid) + ": ";
}

std::string time_left(const Question& question) {
  const auto left = question.deadline - std::chrono::steady_clock::now();
  return std::to_string(std::max<std::int64_t>(left / std::chrono::milliseconds(1), 0)) +
         " ms before the deadline";
}

// Before there is a message.
std::string whom(Peer to) { return "message to agent " + std::to_string(to.pid) + ": "; }

// Nobody waits for nobody, or for ever.
Result<void> check(const Question& question) {
  if (!question.to.valid()) return fail(ErrorCode::kInvalid, std::string(kNoPeer));
  if (question.deadline != Deadline::max()) return {};
  return fail(ErrorCode::kInvalid, whom(question.to) +
                                       "a wait for an answer needs a deadline; kRequestPatience is "
                                       "a good one");
}

// One that we do not know is no promise that anything was done.
AckStatus status_of(const shm::Entry& ack) {
  const std::uint8_t status = ack.extension().ack & ~shm::kAckOfQuestion;
  return status <= static_cast<std::uint8_t>(AckStatus::kEscalate) ? static_cast<AckStatus>(status)
                                                                   : AckStatus::kRejected;
}

// Why an answer does not come, as the receiver says.
tl::unexpected<Error> no_answer_will_come(const Question& question, const Acknowledgement& said) {
  constexpr std::size_t kMostText = 200;  // bytes of what the receiver says
  const std::string left = "; " + time_left(question);
  const bool is_task = question.pending.is_task;
  switch (said.status) {
    case AckStatus::kRejected:
      return fail(
          ErrorCode::kRejected,
          whom(question) +
              (is_task ? "the child does not do it: " : "the receiver made it a dead letter: ") +
              (said.reply.empty() ? "rejected" : said.reply.substr(0, kMostText)) + left);
    case AckStatus::kEscalate:
      return fail(ErrorCode::kUnanswered, whom(question) +
                                              "the receiver handed it to its parent as an "
                                              "escalation and did not answer it" +
                                              left);
    default:
      return fail(ErrorCode::kUnanswered,
                  whom(question) + "the receiver finished it without an answer" + left);
  }
}

std::string waited(const Question& question) {
  const auto time = std::chrono::steady_clock::now() - question.since;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return " within " + std::to_string(ms) + " ms";
}

// The advice depends on the call: a second request may be acted on twice.
std::string no_answer(const Question& question) {
  if (question.pending.for_ack) {
    return "no acknowledgement" + waited(question) + "; allow more time, it may come later";
  }
  const std::string text = "no answer" + waited(question) + "; allow more time; ";
  if (question.cancel_on_timeout) return text + "an order to give the message back was sent";
  return text + "one that comes later is kept as a late answer";
}

}  // namespace

Error not_asked(const Question& question, const SendResult& sent) {
  return {error_of(sent.status), 0,
          whom(question.to) + SendFacts::why(sent) + "; nothing was sent"};
}

Questions::Questions(const Needs& needs)
    : life_(needs.life),
      directory_(needs.directory),
      client_(needs.client),
      receiver_(needs.receiver),
      links_(needs.links),
      names_(needs.names),
      registration_(needs.registration),
      announcements_(needs.announcements),
      sender_(needs.sender),
      leases_(needs.leases),
      debts_(needs.debts),
      sleeper_(needs.sleeper),
      intake_(needs.intake),
      turn_(needs.turn) {}

Result<void> Questions::ask(Question& question, Bytes payload, const SendOptions& options,
                            Deadline until) {
  sender_.prefetch_next_slot();
  if (auto good = prepare(question, options); !good) return good;
  Letterhead head(options, leases_.origin(options));
  head.make_question();
  if (question.pending.is_task) head.make_kind(shm::MessageKind::kTask);
  const MessageId id = question.pending.request_id;
  const SendResult sent =
      sender_.send_under(head, question.to, payload, until, id, &question.place);
  question.sent_here = static_cast<bool>(sent);
  if (sent) return {};
  end(question);
  return tl::unexpected(not_asked(question, sent));
}

// Begins it where nothing is wrong with it: then it may be sent.
Result<void> Questions::prepare(Question& question, const SendOptions& options) {
  if (auto good = check(question); !good) return good;
  if (life_.has_left()) {
    return tl::unexpected(not_asked(question, SendResult(SendStatus::kNoRoute)));
  }
  if (!leases_.may_send_about(options)) {
    return fail(ErrorCode::kInvalid, whom(question.to) + std::string(kNoOrigin));
  }
  if (const std::string rule = why_mute(question.to); !rule.empty()) {
    return fail(ErrorCode::kDenied, whom(question.to) + rule +
                                        ", so no answer would come; ask its parent, or send "
                                        "without a wait for an answer; nothing was sent");
  }
  question.pending.request_id = sender_.reserve_id();
  question.pending.alias = options.reply_to;
  question.pending.wants_word = !options.requires_ack;
  question.cancel_on_timeout = options.cancel_on_timeout;
  // Registered before it is sent: the answer may be faster than we are.
  begin(question);
  return {};
}

// The rule that forbids the receiver to answer us, empty if there is none.
std::string Questions::why_mute(Peer to) {
  {
    const auto lock = life_.lock_send();
    const send::OutLink* link = links_.link_of(to);
    if (link == nullptr || !link->is_mute) return {};
  }
  const auto back = control::route(read_tree(directory_.view()), to.pid, life_.pid());
  return back.allowed ? std::string() : back.text;
}

void Questions::begin(Question& question) {
  BEELINE_DCHECK(std::find(questions_.begin(), questions_.end(), &question) == questions_.end());
  receiver_.answers().expect(question.pending);
  questions_.push_back(&question);
}

void Questions::end(Question& question) {
  receiver_.forget(question.pending);
  std::erase(questions_, &question);
  sleeper_.offer_room();
}

bool Questions::is_settled(Question& question) {
  if (receiver_.has_reply(question.pending) || life_.is_down()) return true;
  if (question.pending.word != shm::kNoEntry) return true;
  const auto lock = life_.lock_send();
  send::OutLink* link = links_.link_of(question.to);
  if (link != nullptr) links_.path().follow(*link);
  if (link == nullptr || link->dead) return true;
  return question.pending.is_task && has_lost_task(question, *link);
}

// The life of the child that was to do the task has ended: no other life does it.
bool Questions::has_lost_task(Question& question, const send::OutLink& link) {
  if (link.place == nullptr) return false;
  const shm::AgentWord word = shm::AgentWord::unpack(link.place->observe());
  const bool is_running = word.state == shm::AgentState::kRunning;
  if (is_running && question.life == shm::kNoIncarnation) question.life = word.incarnation;
  if (is_running && word.incarnation == question.life) return false;
  return question.life != shm::kNoIncarnation || word.state == shm::AgentState::kAway;
}

QuestionState Questions::find_out(Question& question) {
  const auto answered = [&] { return receiver_.has_reply(question.pending); };
  if (answered()) return QuestionState::kAnswered;
  if (question.pending.word != shm::kNoEntry) {
    // Its answer was sent before and may lie in the other lane.
    intake_.drain_from(question.to.pid);
    return answered() ? QuestionState::kAnswered : QuestionState::kLeft;
  }
  if (life_.is_down()) return QuestionState::kDown;
  if (!is_settled(question)) return QuestionState::kWaiting;
  const bool taken = was_taken(question);
  // It may have answered and died after the last look. One that was fenced may go on to send.
  const std::int64_t end = os::monotonic_ns() + Intake::kLongestDrain;
  while (!answered() && intake_.drain_from(question.to.pid) && os::monotonic_ns() < end) {
  }
  if (answered()) return QuestionState::kAnswered;
  return taken ? QuestionState::kDeadTaken : QuestionState::kDead;
}

// The announcement of the link with the receipts of the dead may still lie in the control socket.
bool Questions::was_taken(const Question& question) {
  announcements_.handle_announcements();
  turn_.take();
  const auto lock = life_.lock_send();
  send::OutLink* link = links_.link_of(question.to);
  if (link == nullptr || !question.sent_here) return true;
  (void)link->not_taken();
  const auto lane = static_cast<std::size_t>(question.place.lane);
  return link->lanes[lane].cursor() > question.place.position;
}

// The entry of the answer, leased, or the reason why none comes.
Result<shm::EntryIndex> Questions::await(Question& question) {
  const Sleeper::Blocked blocked(sleeper_);
  question.pending.is_blocking = true;
  shm::EntryIndex at = shm::kNoEntry;
  const auto has_come = [&] {
    if (has_progress(question)) return false;  // that is told before the answer
    return (at = intake_.take_alone(question.pending)) != shm::kNoEntry;
  };
  const auto glance = [this] { return receiver_.calls_for_turn(); };
  if (sleeper_.is_armed() || !sleeper_.waiter().glimpse(has_come, glance)) {
    question.since = std::chrono::steady_clock::now();
    const std::int64_t deadline_ns = question.deadline.time_since_epoch().count();
    const auto has_news = [&] { return has_progress(question) || is_settled(question); };
    while (sleeper_.wait_with(deadline_ns, has_come, has_news, glance) && has_progress(question)) {
      tell_progress(question);
      // A child that reports without end keeps nobody beyond the deadline.
      if (std::chrono::steady_clock::now() >= question.deadline) break;
    }
  }
  if (at == shm::kNoEntry) return conclude(question);
  end(question);
  return at;
}

// How it ends, unless its answer was taken alone: the entry, leased, or why there is none.
Result<shm::EntryIndex> Questions::conclude(Question& question) {
  const QuestionState state = find_out(question);
  while (has_progress(question)) tell_progress(question);
  if (state == QuestionState::kAnswered) {
    const shm::EntryIndex at = receiver_.take_reply(question.pending);
    end(question);
    sleeper_.show_activity();
    return at;
  }
  if (state == QuestionState::kLeft) return conclude_left(question);
  end(question);
  const std::string start = whom(question);
  const bool is_dead = state == QuestionState::kDead || state == QuestionState::kDeadTaken;
  const bool is_given_up = state == QuestionState::kWaiting && question.cancel_on_timeout;
  // A successor of the child might find the task in its lane.
  if (is_given_up || (is_dead && question.pending.is_task)) {
    debts_.cancel(question.to.pid, question.pending.request_id);
  }
  switch (state) {
    case QuestionState::kDead:
      return fail(ErrorCode::kPeerDead,
                  start + "the receiver died before it took it, " + time_left(question));
    case QuestionState::kDeadTaken:
      return fail(
          ErrorCode::kPeerDeadTaken,
          start + "the receiver took it and died before it answered, it may have acted on it; " +
              time_left(question));
    case QuestionState::kDown:
      return fail(ErrorCode::kClosed, start + life_.why_down());
    default:
      break;
  }
  return fail(ErrorCode::kTimeout, start + no_answer(question) + absence(question.to));
}

// The receiver ended the message without an answer, and has said why.
Result<shm::EntryIndex> Questions::conclude_left(Question& question) {
  const shm::EntryIndex at = receiver_.take_word(question.pending);
  end(question);
  return no_answer_will_come(question, read_ack(at));
}

// A receiver without a process answers nothing until somebody attaches under its name.
std::string Questions::absence(Peer to) {
  {
    const auto lock = life_.lock_send();
    const send::OutLink* link = links_.link_of(to);
    if (link == nullptr || !link->is_away()) return {};
  }
  std::string text = "; the receiver has no process";
  if (client_.closed() || registration_.is_silent() || life_.waits_outside())
    return text;  // nobody waits for a coordinator here
  const Registration::Unasked unasked(registration_);
  const auto page = client_.list(to.pid);  // it begins with this one
  if (!page) return text;
  const std::vector<AgentInfo> listed = control::infos_of(page->agents);
  if (listed.empty() || listed.front().pid != to.pid) return text;
  const AgentInfo& known = listed.front();
  if (known.state != State::kZombie || known.away_unix_ns == 0) return text;
  const std::int64_t away_ns = os::realtime_ns() - known.away_unix_ns;
  const std::time_t since = known.away_unix_ns / 1'000'000'000;
  return text + fmt::format(" since {:%FT%TZ}, for {:.1f} s: start \"{}\" again",
                            fmt::gmtime(since), static_cast<double>(away_ns) / 1e9, known.name);
}

Result<Message> Questions::request(Peer to, std::span<const std::byte> payload, Deadline deadline,
                                   const SendOptions& options) {
  Question question(to, deadline);
  const auto at = ask_and_await(question, payload, options);
  if (!at) return tl::unexpected(at.error());
  return leases_.hand_over(*at);
}

Result<shm::EntryIndex> Questions::ask_and_await(Question& question, Bytes payload,
                                                 const SendOptions& options) {
  if (auto asked = ask(question, payload, options, question.deadline); !asked) {
    return tl::unexpected(asked.error());
  }
  return await(question);
}

std::vector<Result<Message>> Questions::request_all(std::span<const Request> requests,
                                                    Deadline deadline) {
  std::vector<Result<Message>> results;
  results.reserve(requests.size());
  for (const auto& at : ask_all(requests, deadline, {})) {
    results.push_back(at ? Result<Message>(leases_.hand_over(*at)) : tl::unexpected(at.error()));
  }
  return results;
}

std::vector<Result<shm::EntryIndex>> Questions::ask_all(std::span<const Request> requests,
                                                        Deadline deadline, const Marking& mark) {
  return RequestSet({life_, links_, names_, sender_, leases_, *this, sleeper_}, deadline)
      .run(requests, mark);
}

bool Questions::has_one_to(Pid pid) const {
  return std::any_of(questions_.begin(), questions_.end(),
                     [pid](const Question* question) { return question->to.pid == pid; });
}

SendResult Questions::fire_and_forget(Peer to, std::span<const std::byte> payload,
                                      const SendOptions& options) {
  if (life_.has_left()) return SendFacts::of(SendStatus::kNoRoute, to.pid);
  const MessageId id = sender_.reserve_id();
  // Noted before it is sent: the answer may be faster than we are.
  if (!receiver_.answers().open(id, options.reply_to, to.pid)) {
    const std::string most = std::to_string(kMostOpenQuestions);
    return SendFacts::of_error({ErrorCode::kFull, 0,
                                most + " messages of fire_and_forget() have no answer yet: wait "
                                       "for some, or close some with cancel()"});
  }
  const SendResult sent = sender_.send(to, payload, options, Deadline::min(), id);
  if (!sent) receiver_.answers().withdraw(id, to.pid);
  return sent;
}

std::vector<Message> Questions::drain_pending_results() {
  std::vector<Message> results;
  if (life_.has_ended()) return results;
  turn_.take_at(os::coarse_ns());
  announcements_.hear();
  (void)intake_.drain_fully();
  for (;;) {
    const shm::EntryIndex at = receiver_.take_stashed_answer();
    if (at == shm::kNoEntry) break;
    results.push_back(leases_.hand_over(at));
  }
  sleeper_.offer_room();
  return results;
}

Result<Acknowledgement> Questions::await_ack(Peer to, MessageId id, Deadline deadline) {
  if (life_.has_ended()) return fail(ErrorCode::kClosed, life_.why_down());
  shm::EntryIndex at = receiver_.take_stashed_ack(id, to.pid);
  if (at == shm::kNoEntry) {
    Question question(to, deadline);
    question.pending.request_id = id;
    question.pending.for_ack = true;
    if (auto good = check(question); !good) return tl::unexpected(good.error());
    if (const std::string rule = why_mute(to); !rule.empty()) {
      return fail(ErrorCode::kDenied, whom(to) + rule + ", so no acknowledgement would come");
    }
    begin(question);
    const auto found = await(question);
    if (!found) return tl::unexpected(found.error());
    at = *found;
  }
  return read_ack(at);
}

Result<Acknowledgement> Questions::send_acked(Peer to, std::span<const std::byte> payload,
                                              Deadline deadline, const SendOptions& options) {
  SendOptions asking = options;
  asking.requires_ack = true;
  Question question(to, deadline);
  question.pending.for_ack = true;
  if (auto asked = ask(question, payload, asking, deadline); !asked) {
    return tl::unexpected(asked.error());
  }
  const auto at = await(question);
  if (!at) return tl::unexpected(at.error());
  return read_ack(*at);
}

// Nobody catches an exception of the handler.
void Questions::tell_progress(Question& question) {
  const shm::EntryIndex at = receiver_.take_report(question.pending);
  if (at == shm::kNoEntry) return;
  const bool is_log = receiver_.entry(at).kind() == shm::MessageKind::kTaskLog;
  TaskProgress said{question.pending.request_id,
                    question.to.pid,
                    is_log ? TaskProgress::Kind::kLog : TaskProgress::Kind::kUpdate,
                    {}};
  const auto payload = receiver_.payload(at);
  said.text.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  receiver_.done(at);
  sleeper_.offer_room();
  if (!question.progress) return;
  const ProgressHandler tell = question.progress;  // the question may end meanwhile
  try {
    tell(said);
  } catch (...) {
  }
}

Result<TaskResult> Questions::read_result(Result<shm::EntryIndex> at) {
  if (!at) return not_executed(std::move(at.error()));
  const Message answer = leases_.hand_over(*at);
  Result<TaskResult> result = decode_result(answer.payload());
  if (!result) result = not_executed(std::move(result.error()));
  return result;
}

Acknowledgement Questions::read_ack(shm::EntryIndex at) {
  const shm::Entry& entry = receiver_.entry(at);
  const auto payload = receiver_.payload(at);
  Acknowledgement ack;
  ack.id = entry.header.reply_to;
  ack.status = status_of(entry);
  ack.is_cut = (entry.header.flags & shm::kFlagCut) != 0;
  ack.reply.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  receiver_.done(at);
  sleeper_.offer_room();
  sleeper_.show_activity();
  return ack;
}

}  // namespace beeline
