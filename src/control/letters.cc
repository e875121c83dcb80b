#include "src/control/letters.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <beeline/types.h>
#include <fmt/format.h>

#include "src/control/identity.h"
#include "src/control/trace_text.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/memfd.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMaxTextBytes = 300;  // of an agent's reason

Result<void> check_user(const Caller& caller, uid_t owner, std::string_view whose) {
  if (caller.uid == owner || is_trusted(caller)) return {};
  return fail(ErrorCode::kDenied,
              fmt::format("uid {} may not touch the dead letters of {}, which runs as uid {}; ask "
                          "as that user, as uid {} or as root",
                          caller.uid, whose, owner, ::geteuid()));
}

Result<void> check_request(const LettersRequest& request) {
  const bool requeue = request.what == kRequeueLetters;
  if (!requeue && request.what != kPurgeLetters) {
    return fail(ErrorCode::kInvalid,
                fmt::format("letters: {} is neither \"{}\" nor \"{}\"",
                            in_quotes(request.what.substr(0, 40)), kRequeueLetters, kPurgeLetters));
  }
  if (requeue && request.id == 0) {
    return fail(ErrorCode::kInvalid, "letters: a requeue needs the id of a message");
  }
  if (requeue && request.to == kNoPid) {
    return fail(ErrorCode::kInvalid,
                "letters: the receiver of a letter that the coordinator holds has ended for good; "
                "send it to another agent and purge it (`beeline dlq requeue ID --to NAME`)");
  }
  return {};
}

Result<void> purge_own(Hive& hive, const Caller& caller, std::uint64_t seq,
                       const LettersRequest& request) {
  if (auto good = check_user(caller, ::geteuid(), "the coordinator"); !good) return good;
  const std::size_t count = hive.dead_letters.purge(request.id, request.of);
  if (count == 0 && request.id != 0) {
    return fail(ErrorCode::kInvalid,
                fmt::format("message {} is not a dead letter of the coordinator: `beeline dlq ls` "
                            "lists those",
                            id_text(request.id)));
  }
  hive.answer(caller, seq, LettersAnswer{count});
  return {};
}

// The life that can be asked.
Result<const Life*> find_life(Hive& hive, Pid pid) {
  const Agent* agent = hive.registry.agent(pid);
  const AgentNode* node = hive.tree.find(pid);
  if (agent == nullptr || node == nullptr) {
    return fail(ErrorCode::kNoAgent,
                fmt::format("letters: no agent has PID {}; see `beeline tree`", pid));
  }
  const std::string who = fmt::format("agent {} (PID {})", in_quotes(node->name), pid);
  if (node->state == shm::AgentState::kDead) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{} has ended for good: its dead letters are the coordinator's, see "
                            "`beeline dlq ls`",
                            who));
  }
  const Life* life = agent->current.get();
  if (life == nullptr || life->ended) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{} has no process: its dead letters wait in its home until it "
                            "attaches again",
                            who));
  }
  if (life->session == 0) {
    return fail(ErrorCode::kPeerDead,
                fmt::format("{} has lost its connection to the coordinator: ask again when it has "
                            "registered again, within 5 s, or attached again",
                            who));
  }
  return life;
}

KeptLetter describe(const Hive& hive, const DeadLetter& letter) {
  KeptLetter kept;
  kept.number = letter.number;
  kept.id = letter.header.id;
  kept.reply_to = letter.header.reply_to;
  kept.from = letter.from;
  if (const AgentNode* node = hive.tree.find(letter.from)) kept.from_name = node->name;
  kept.to = letter.to;
  kept.to_name = letter.to_name;
  kept.type = letter.type;
  kept.channel = letter.channel;
  kept.rank = letter.header.rank;
  kept.attempts = letter.attempts;
  kept.length = letter.header.length;
  kept.kept = static_cast<std::uint32_t>(letter.payload.size());
  kept.reason = shm::to_string(letter.reason);
  const std::int64_t now_ns = os::coarse_ns();
  // The sender wrote the time, so it may be any number.
  kept.age_ms = (now_ns - std::clamp<std::int64_t>(letter.header.sent_ns, 0, now_ns)) / 1'000'000;
  kept.preview = letter.payload.substr(0, kMaxLetterPreview);
  kept.hops = letter.header.hops;
  kept.cause = letter.extension.cause;
  kept.trace = to_text(trace_of(letter.extension));
  return kept;
}

// A file of its own that holds the payload.
Result<SharedFd> payload_file(const std::string& payload) {
  auto file = os::create_memfd("beeline-letter", std::max<std::size_t>(payload.size(), 1));
  if (!file) return tl::unexpected(std::move(file.error()));
  const ssize_t written = ::pwrite(file->get(), payload.data(), payload.size(), 0);
  if (written != static_cast<ssize_t>(payload.size())) {
    return os::system_failure(
        fmt::format("cannot write the {} bytes of a dead letter into a memfd", payload.size()));
  }
  return share(std::move(*file));
}

}  // namespace

Result<void> ask_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                         const LettersRequest& request) {
  if (auto good = check_request(request); !good) return good;
  if (request.to == kNoPid) return purge_own(hive, caller, seq, request);
  const auto life = find_life(hive, request.to);
  if (!life) return tl::unexpected(life.error());
  const std::string whose = fmt::format("agent {}", in_quotes(hive.tree.find(request.to)->name));
  if (auto good = check_user(caller, (*life)->uid, whose); !good) return good;
  const auto waiting = std::count_if(
      hive.letter_tickets.waiting.begin(), hive.letter_tickets.waiting.end(),
      [&](const LetterTicket& ticket) { return ticket.agent_session == (*life)->session; });
  if (static_cast<std::size_t>(waiting) >= kMaxLetterTickets) {
    return fail(ErrorCode::kFull, fmt::format("{} questions about its dead letters wait for {}, "
                                              "the limit is {}: ask again when it has answered",
                                              waiting, whose, kMaxLetterTickets));
  }
  const std::uint64_t number = hive.letter_tickets.next++;
  hive.letter_tickets.waiting.push_back({number, (*life)->session, caller.session, seq});
  hive.announce(**life, LettersAnnouncement{number, request.what, request.id, request.until_ns});
  return {};
}

void finish_letters(Hive& hive, const Caller& caller, const LettersDoneRequest& request) {
  auto& tickets = hive.letter_tickets.waiting;
  const auto ticket = std::find_if(tickets.begin(), tickets.end(), [&](const auto& each) {
    return each.number == request.ticket && each.agent_session == caller.session;
  });
  if (ticket == tickets.end()) return;
  Answer answer = LettersAnswer{request.count};
  if (!request.text.empty()) {
    answer = ErrorAnswer{ErrorCode::kInvalid, request.text.substr(0, kMaxTextBytes)};
  }
  const LetterTicket found = *ticket;
  tickets.erase(ticket);
  hive.outbox.send(found.tool_session, build(answer, found.tool_seq), {});
}

void forget_session(Hive& hive, std::uint64_t session) {
  std::vector<LetterTicket> waiting;
  std::swap(waiting, hive.letter_tickets.waiting);
  for (const LetterTicket& ticket : waiting) {
    if (ticket.tool_session == session) continue;
    if (ticket.agent_session != session) {
      hive.letter_tickets.waiting.push_back(ticket);
      continue;
    }
    const ErrorAnswer gone{ErrorCode::kPeerDead,
                           "the agent ended or lost its connection before it answered: "
                           "`beeline dlq ls` shows if its dead letters have changed"};
    hive.outbox.send(ticket.tool_session, build(Answer(gone), ticket.tool_seq), {});
  }
}

Result<void> list_kept_letters(Hive& hive, const Caller& caller, std::uint64_t seq,
                               const KeptLettersRequest& request) {
  if (auto good = check_user(caller, ::geteuid(), "the coordinator"); !good) return good;
  KeptLettersAnswer answer;
  const auto& all = hive.dead_letters.kept();
  const auto first = std::partition_point(all.begin(), all.end(), [&](const DeadLetter& letter) {
    return letter.number < request.from;
  });
  for (auto it = first; it != all.end(); ++it) {
    if (answer.letters.size() == kMaxListedLetters) {
      answer.next = static_cast<std::int64_t>(it->number);
      break;
    }
    answer.letters.push_back(describe(hive, *it));
  }
  hive.answer(caller, seq, answer);
  return {};
}

Result<void> show_kept_letter(Hive& hive, const Caller& caller, std::uint64_t seq,
                              const KeptLetterRequest& request) {
  if (auto good = check_user(caller, ::geteuid(), "the coordinator"); !good) return good;
  const DeadLetter* letter = hive.dead_letters.find(request.id, request.to);
  if (letter == nullptr) {
    return fail(ErrorCode::kInvalid,
                fmt::format("message {} for PID {} is not a dead letter of the coordinator: "
                            "`beeline dlq ls` lists those",
                            id_text(request.id), request.to));
  }
  auto file = payload_file(letter->payload);
  if (!file) return tl::unexpected(std::move(file.error()));
  hive.answer(caller, seq, KeptLetterAnswer{describe(hive, *letter)}, {std::move(*file)});
  return {};
}

}  // namespace beeline::control
