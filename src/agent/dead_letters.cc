#include "src/agent/dead_letters.h"

#include <string>

namespace beeline {

namespace {

std::string no_letter(MessageId id) {
  return "message " + id_text(id) +
         " is no dead letter of this agent: it was put back or purged, or it never died; list them "
         "with Agent::inbox() or `beeline dlq ls`";
}

}  // namespace

Result<void> DeadLetters::requeue_dead(MessageId id) {
  if (life_.has_ended()) return fail(ErrorCode::kClosed, life_.why_down());
  const shm::EntryIndex at = receiver_.entries().find_dead(id);
  if (at == shm::kNoEntry) return fail(ErrorCode::kInvalid, no_letter(id));
  if (receiver_.entry(at).is_task()) {
    return fail(ErrorCode::kInvalid, "message " + id_text(id) +
                                         " is a task, and no task is done again: its parent may "
                                         "execute it anew");
  }
  receiver_.revive(at);
  sleeper_.call_user();
  return {};
}

bool DeadLetters::purge_dead(MessageId id) {
  if (life_.has_ended()) return false;
  const shm::EntryIndex at = receiver_.entries().find_dead(id);
  if (at == shm::kNoEntry) return false;
  receiver_.purge_dead(at);
  sleeper_.offer_room();
  return true;
}

std::size_t DeadLetters::purge_all_dead() {
  if (life_.has_ended()) return 0;
  std::size_t count = 0;
  const shm::Home& home = receiver_.home().home();
  for (shm::EntryIndex at(0); at.value() < home.entries_allocated(); ++at) {
    if (home.entry(at).word().state != shm::EntryState::kDead) continue;
    receiver_.purge_dead(at);
    ++count;
  }
  sleeper_.offer_room();
  return count;
}

void DeadLetters::handle(const control::LettersAnnouncement& letters) {
  control::LettersDoneRequest done;
  done.ticket = letters.ticket;
  if (os::monotonic_ns() > letters.until_ns) {
    // The coordinator has told the tool that nothing will be done.
    done.text = "the agent read the order after its deadline, and did nothing: ask again";
  } else if (letters.what == control::kRequeueLetters) {
    const auto requeued = requeue_dead(letters.id);
    if (requeued) {
      done.count = 1;
    } else {
      done.text = requeued.error().text;
    }
  } else if (letters.what == control::kPurgeLetters && letters.id == 0) {
    done.count = purge_all_dead();
  } else if (letters.what == control::kPurgeLetters && purge_dead(letters.id)) {
    done.count = 1;
  } else {
    done.text = no_letter(letters.id);
  }
  // A connection that is lost ends the wait of the tool.
  (void)client_.letters_done(done);
}

}  // namespace beeline
