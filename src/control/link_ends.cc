// The ends of links: their readers forget them, or find impossible contents in them.

#include <set>
#include <utility>

#include <fmt/format.h>

#include "shm/check.h"
#include "shm/home.h"
#include "src/control/links.h"
#include "src/control/records.h"
#include "src/control/tombstones.h"

namespace beeline::control {
namespace {

constexpr std::size_t kMostOfReport = 200;  // bytes of a reader's words about a link

// The life that owns a link; null if only its number is known.
const Life* owner_life(Hive& hive, const LinkEntry& link) {
  const Agent* owner = hive.registry.agent(link.owner);
  return owner == nullptr ? nullptr : owner->life(link.key.incarnation);
}

bool owner_lives(Hive& hive, const LinkEntry& link) {
  const Life* life = owner_life(hive, link);
  return life != nullptr && !life->ended;
}

}  // namespace

bool needed_as_mine(Hive& hive, const LinkEntry& link) {
  const Agent* owner = hive.registry.agent(link.owner);
  return owner != nullptr && !owner->taken_over && owner->committed() == link.key.incarnation;
}

bool is_refused(Hive& hive, const LinkEntry& link) {
  const Agent* reader = hive.registry.agent(link.reader);
  const Life* life = reader == nullptr ? nullptr : reader->living();
  return life != nullptr && link.refused_by == life->incarnation;
}

namespace {

// Drops the links of a reader to an agent that was taken over, once the reader has forgotten every
// link of that agent.
void drop_receipts(Hive& hive, Pid reader, Pid dead) {
  if (hive.registry.has_link_between(dead, reader)) return;
  for (const LinkEntry* link : hive.registry.links_between(reader, dead)) {
    hive.drop_link(link->key);
  }
}

// Lets go of a link that the reader has forgotten or never accepted; its owner has
// ended.
void let_go(Hive& hive, LinkEntry& link) {
  BEELINE_CHECK(!owner_lives(hive, link), link.owner, link.key.incarnation, link.key.serial);
  if (needed_as_mine(hive, link)) {
    if (!std::exchange(link.faded, true)) hive.note_link(link);
    return;
  }
  const Pid owner = link.owner;
  const Pid reader = link.reader;
  hive.drop_link(link.key);
  const Agent* agent = hive.registry.agent(owner);
  if (agent != nullptr && agent->taken_over) drop_receipts(hive, reader, owner);
  forget_if_done(hive, owner);
}

}  // namespace

void fade_link(Hive& hive, const Caller& caller, const FadeRequest& request) {
  const shm::LinkKey key{request.incarnation, request.serial};
  LinkEntry* link = hive.registry.link(key);
  if (link != nullptr && link->reader == caller.pid) {
    if (owner_lives(hive, *link)) {
      if (!hive.may_log(caller, "fade_refused")) return;
      hive.log.warn("fade_refused", "link={}/{} owner={} reader={} reason=\"its owner lives\"",
                    key.incarnation.value(), key.serial, link->owner, caller.pid);
      return;
    }
    if (request.gone) {
      let_go(hive, *link);
    } else if (!std::exchange(link->released, true)) {
      // From now on it is announced as one that its reader may have forgotten.
      hive.note_link(*link);
    }
  }
  if (request.gone) return;
  Fades& waiting = hive.fades[caller.incarnation];
  waiting.reader = caller.pid;
  if (waiting.links.size() < shm::kMaxRows || waiting.links.contains(key)) {
    waiting.links.insert(key);
  } else if (hive.may_log(caller, "fade_refused")) {
    hive.log.warn("fade_refused", "link={}/{} reader={} reason=\"more links than a home has rows\"",
                  key.incarnation.value(), key.serial, caller.pid);
  }
  tell_fades(hive);
}

void tell_fades(Hive& hive) {
  if (!hive.keeper.is_settled()) return;
  for (const auto& [incarnation, fades] : std::exchange(hive.fades, {})) {
    const Agent* agent = hive.registry.agent(fades.reader);
    const Life* life = agent == nullptr ? nullptr : agent->life(incarnation);
    if (life == nullptr) continue;
    for (const shm::LinkKey& link : fades.links) {
      hive.announce(*life, FadedAnnouncement{link.incarnation, link.serial});
    }
  }
}

namespace {

// Takes nothing more from a link, and tells the log, the keeper and the link's owner.
void quarantine(Hive& hive, LinkEntry& link, const std::string& found, uid_t reporter) {
  const shm::LinkKey key = link.key;
  link.ended = true;
  const std::string total = build_number(++hive.quarantined_links);
  const Agent* owner = hive.registry.agent(link.owner);
  const Life* life = owner_life(hive, link);
  const AgentNode* node = hive.tree.find(link.owner);
  // The line counts for the user of the liar, not of the reporter.
  const uid_t uid = life != nullptr ? life->uid : owner != nullptr ? owner->uid : reporter;
  if (hive.may_log_life(link.owner, uid, "link_ended")) {
    hive.log.warn("link_ended", "owner={} name={} process={} reader={} link={}/{} what={}",
                  link.owner, in_quotes(node == nullptr ? "" : node->name),
                  life == nullptr ? 0 : life->os_pid, link.reader, key.incarnation.value(),
                  key.serial, in_quotes(found));
  }
  hive.note_link(link);
  hive.keeper.note(kEndedLinksKey, total);
  if (life == nullptr) return;
  EndedAnnouncement ended;
  ended.pid = link.reader;
  ended.incarnation = key.incarnation;
  ended.serial = key.serial;
  ended.what = found;
  hive.announce(*life, ended);
}

}  // namespace

void end_link(Hive& hive, const Caller& caller, const ReportRequest& request) {
  const std::string found = request.what.substr(0, kMostOfReport);
  const shm::LinkKey key{request.incarnation, request.serial};
  LinkEntry* link = hive.registry.link(key);
  // Only its reader can know the contents of a link; otherwise agents could end the links of
  // others.
  if (link == nullptr || link->reader != caller.pid || link->owner != request.pid) {
    if (!hive.may_log(caller, "report_refused")) return;
    hive.log.warn("report_refused", "reporter={} process={} owner={} link={}/{} what={}",
                  caller.pid, caller.os_pid, request.pid, key.incarnation.value(), key.serial,
                  in_quotes(found));
    return;
  }
  if (request.waits) {
    if (!hive.may_log(caller, "link_waits")) return;
    hive.log.warn("link_waits", "reader={} owner={} link={}/{} what={}", caller.pid, request.pid,
                  key.incarnation.value(), key.serial, in_quotes(found));
    return;
  }
  if (!link->ended) quarantine(hive, *link, found, caller.uid);
  if (!request.unread) return;
  // A reader without a row for the link will not say that it is drained or forgotten.
  link->refused_by = caller.incarnation;
  if (!owner_lives(hive, *link)) let_go(hive, *link);
}

void let_go_of_refused(Hive& hive, Pid owner, shm::Incarnation incarnation) {
  for (LinkEntry* link : hive.registry.links_of(owner)) {
    const bool mine = link->key.incarnation == incarnation;
    if (mine && is_refused(hive, *link)) let_go(hive, *link);
  }
}

void drop_needless_links(Hive& hive, Pid dead) {
  // No agent is left to drain a link if its reader has been taken over too. If the reader is dead
  // and not taken over yet, the link stays: it tells whose letters lie in the reader's home.
  for (const LinkEntry* link : hive.registry.links_of(dead)) {
    const Agent* reader = hive.registry.agent(link->reader);
    const bool gone = reader == nullptr || reader->taken_over;
    if (gone || link->faded) hive.drop_link(link->key);
  }
  std::set<Pid> readers;
  for (const LinkEntry* link : hive.registry.links_to(dead)) readers.insert(link->owner);
  for (const Pid reader : readers) drop_receipts(hive, reader, dead);
}

void drop_faded_links(Hive& hive, Pid pid, shm::Incarnation incarnation) {
  for (const LinkEntry* link : hive.registry.links_of(pid)) {
    if (link->faded && link->key.incarnation == incarnation) hive.drop_link(link->key);
  }
}

}  // namespace beeline::control
