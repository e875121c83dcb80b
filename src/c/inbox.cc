// Inboxes and dead letters.

#include <beeline/inbox.h>

#include <beeline/c/hive.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/list.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

// Inboxes of this agent and of others have the same form.
class InboxList final : public List<beeline_inbox, beeline::SeenMessage> {
 public:
  explicit InboxList(beeline::SeenInbox seen)
      : List(std::move(seen.messages), item_of), name_(std::move(seen.name)) {
    this->length = seen.length;
    this->damaged_links = seen.damaged_links;
    this->pid = seen.pid;
    this->name = name_.c_str();
  }

 private:
  static beeline_inbox_item item_of(const beeline::SeenMessage& from) {
    beeline_inbox_item item{};
    item.id = from.id;
    item.from = from.from;
    item.from_name = from.from_name.c_str();
    item.reply_to = from.reply_to;
    item.cause = from.cause;
    item.hops = from.hops;
    item.rank = from.rank;
    item.length = from.length;
    item.attempts = from.attempts;
    item.sent_ns = from.sent_ns;
    item.ttl_ms = from.ttl_ms;
    item.requires_ack = from.requires_ack;
    item.place = static_cast<int32_t>(from.place);
    item.type = from.type.c_str();
    item.channel = from.channel.c_str();
    item.reason = from.reason.c_str();
    item.preview = from.preview.data();
    item.preview_length = from.preview.size();
    return item;
  }

  std::string name_;
};

beeline::InboxPlace place_of(const beeline::InboxItem& item) {
  if (item.dead) return beeline::InboxPlace::kDead;
  if (item.leased) return beeline::InboxPlace::kLeased;
  return item.stashed ? beeline::InboxPlace::kStashed : beeline::InboxPlace::kQueued;
}

}  // namespace

const char* beeline_place_name(int32_t place) {
  if (place < BEELINE_PLACE_QUEUED || place > BEELINE_PLACE_DEAD) return "unknown";
  return beeline::to_string(static_cast<beeline::InboxPlace>(place)).data();
}

beeline_code beeline_list_inbox(beeline_agent* agent, size_t most, const beeline_filter* filter,
                                beeline_inbox** inbox) {
  return checked(__func__, {{"agent", agent}, {"inbox", inbox}},
                 [&](const char* function) -> beeline_code {
                   *inbox = nullptr;
                   beeline::Filter wanted;
                   const beeline_code read = read_options(function, filter, wanted);
                   if (read != BEELINE_OK) return read;
                   beeline::SeenInbox seen;
                   seen.pid = agent->agent.pid();
                   seen.name = agent->agent.name();
                   seen.length = agent->agent.counters().queued;
                   for (beeline::InboxItem& item : agent->agent.inbox(most, wanted)) {
                     const beeline::InboxPlace place = place_of(item);
                     seen.messages.push_back({std::move(item), place});
                   }
                   *inbox = new InboxList(std::move(seen));
                   return BEELINE_OK;
                 });
}

beeline_code beeline_look_into_inbox(const char* hive, const char* name, size_t length,
                                     int64_t control_timeout_ns, beeline_inbox** inbox) {
  return checked(__func__, {{"name", name}, {"inbox", inbox}}, [&](const char*) -> beeline_code {
    *inbox = nullptr;
    beeline::LookOptions options;
    options.hive = text_of(hive, BEELINE_TEXT);
    options.control_timeout = wait_of(control_timeout_ns);
    auto seen = beeline::look_into_inbox(text_of(name, length), options);
    if (!seen) return failed(std::move(seen.error()));
    *inbox = new InboxList(std::move(*seen));
    return BEELINE_OK;
  });
}

void beeline_inbox_free(beeline_inbox* inbox) { delete static_cast<InboxList*>(inbox); }

beeline_code beeline_requeue_dead(beeline_agent* agent, beeline_id id) {
  return checked(__func__, {{"agent", agent}},
                 [&](const char*) { return outcome_of(agent->agent.requeue_dead(id)); });
}
bool beeline_purge_dead(beeline_agent* agent, beeline_id id) {
  return agent != nullptr && agent->agent.purge_dead(id);
}
size_t beeline_purge_all_dead(beeline_agent* agent) {
  return agent == nullptr ? 0 : agent->agent.purge_all_dead();
}
