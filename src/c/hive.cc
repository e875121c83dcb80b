// Broadcasts, counters, links, notices.

#include <beeline/c/hive.h>

#include <string>
#include <utility>
#include <vector>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/list.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

static_assert(kFirstCounters <= sizeof(beeline_counters));

// The result for one target, with its words.
struct NamedDelivery {
  beeline::Delivery delivery;
  std::string text;
};
using DeliveryList = List<beeline_deliveries, NamedDelivery>;
using LinkList = List<beeline_links, beeline::LinkCounters>;

beeline_delivery delivery_of(const NamedDelivery& from) {
  const beeline::Delivery& each = from.delivery;
  return {each.pid, each.name.c_str(), code_of(each.result.status), each.result.id,
          from.text.c_str()};
}

std::vector<NamedDelivery> named(std::vector<beeline::Delivery> deliveries) {
  std::vector<NamedDelivery> result;
  result.reserve(deliveries.size());
  for (beeline::Delivery& each : deliveries) {
    std::string text = each.result ? std::string() : each.result.text();
    result.push_back({std::move(each), std::move(text)});
  }
  return result;
}

beeline_link link_of(const beeline::LinkCounters& link) {
  return {link.peer, link.is_away, link.sent, link.not_taken, link.received, link.copies_dropped};
}

}  // namespace

beeline_code beeline_broadcast(beeline_agent* agent, int32_t group, const char* role,
                               const void* payload, size_t length,
                               const beeline_send_options* options,
                               beeline_deliveries** deliveries) {
  const bool needs_role = group == BEELINE_GROUP_ROLE;
  return checked(
      __func__,
      {{"agent", agent},
       {"role", needs_role ? role : ""},
       {"deliveries", deliveries},
       bytes_argument("payload", payload, length)},
      [&](const char* function) -> beeline_code {
        *deliveries = nullptr;
        if (group < BEELINE_GROUP_ALL || group > BEELINE_GROUP_ROLE) {
          return invalid(function, {"`group` is ", std::to_string(group),
                                    ": give one of BEELINE_GROUP_ALL to BEELINE_GROUP_ROLE"});
        }
        beeline::SendOptions wanted;
        const beeline_code read = read_options(function, options, wanted);
        if (read != BEELINE_OK) return read;
        const beeline::Group to{static_cast<beeline::Group::Kind>(group), needs_role ? role : ""};
        *deliveries = new DeliveryList(
            named(agent->agent.broadcast(to, payload_of(payload, length), wanted)), delivery_of);
        return BEELINE_OK;
      });
}

void beeline_deliveries_free(beeline_deliveries* deliveries) { DeliveryList::free(deliveries); }

beeline_code beeline_count(const beeline_agent* agent, beeline_counters* counters) {
  return checked(__func__, {{"agent", agent}, {"counters", counters}},
                 [&](const char* function) -> beeline_code {
                   const beeline::InboxCounters now = agent->agent.counters();
                   beeline_counters found{};
                   found.drained = now.drained;
                   found.queued = now.queued;
                   found.tasks = now.tasks;
                   found.leased = now.leased;
                   found.done = now.done;
                   found.dead = now.dead;
                   found.purged = now.purged;
                   found.requeued = now.requeued;
                   found.quarantined_links = now.quarantined_links;
                   found.late_replies = now.late_replies;
                   found.acks_dropped = now.acks_dropped;
                   found.acks_unread = now.acks_unread;
                   found.copies_dropped = now.copies_dropped;
                   found.notices_dropped = now.notices_dropped;
                   return write_sized(function, "counters", counters, kFirstCounters, found);
                 });
}

beeline_code beeline_list_links(const beeline_agent* agent, beeline_links** links) {
  return checked(__func__, {{"agent", agent}, {"links", links}}, [&](const char*) -> beeline_code {
    *links = nullptr;
    *links = new LinkList(agent->agent.links(), link_of);
    return BEELINE_OK;
  });
}

void beeline_links_free(beeline_links* links) { LinkList::free(links); }

beeline_code beeline_next_notice(beeline_agent* agent, beeline_notice* notice) {
  return checked(__func__, {{"agent", agent}, {"notice", notice}},
                 [&](const char*) -> beeline_code {
                   auto next = agent->agent.next_notice();
                   if (!next) return BEELINE_NOTHING;
                   agent->last_notice = std::move(*next);
                   notice->kind = static_cast<int32_t>(agent->last_notice.kind);
                   notice->pid = agent->last_notice.pid;
                   notice->name = agent->last_notice.name.c_str();
                   return BEELINE_OK;
                 });
}
