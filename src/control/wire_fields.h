#pragma once

// The fields of each packet, described once: a function `fields` walks them. The builder and the
// parser of wire.cc both follow that description. `v(name, field)` is required,
// `v.maybe(name, field)` may be absent. Only wire.cc includes this file.

#include "src/control/wire.h"

namespace beeline::control {

template <typename V>
void fields(V& v, AttachRequest& r) {
  v("layout", r.layout);
  v("name", r.name);
  v.maybe("parent", r.parent);
  v.maybe("role", r.role);
  v.maybe("temporary", r.temporary);
  v.maybe("pidfd", r.pidfd);
  v.maybe("ticket", r.ticket);
  v.maybe("secret", r.secret);
}
template <typename V>
void fields(V& v, ProvideRequest& r) {
  v("ready", r.ready);
}
template <typename V>
void fields(V&, ReadyRequest&) {}
template <typename V>
void fields(V& v, shm::LinkContract& r) {
  v("normal_slots", r.normal_slots);
  v("urgent_slots", r.urgent_slots);
  v("max_payload_bytes", r.max_payload_bytes);
}
template <typename V>
void fields(V& v, OpenRequest& r) {
  v("to", r.to);
  v("serial", r.serial);
  v("contract", r.contract);
  v.maybe("again", r.again);
}
template <typename V>
void fields(V& v, FadeRequest& r) {
  v("incarnation", r.incarnation);
  v("serial", r.serial);
  v.maybe("gone", r.gone);
}
template <typename V>
void fields(V& v, TellRequest& r) {
  v("incarnation", r.incarnation);
  v("serial", r.serial);
}
template <typename V>
void fields(V& v, DetachRequest& r) {
  v("empty", r.empty);
}
template <typename V>
void fields(V& v, ResumeRequest& r) {
  fields(v, r.as);
  v("pid", r.pid);
  v("incarnation", r.incarnation);
  v.maybe("parent_pid", r.parent_pid);
  v("ready", r.ready);
}
template <typename V>
void fields(V& v, ReportRequest& r) {
  v("what", r.what);
  v("pid", r.pid);
  v("incarnation", r.incarnation);
  v("serial", r.serial);
  v.maybe("unread", r.unread);
  v.maybe("waits", r.waits);
}
template <typename V>
void fields(V& v, EscalateRequest& r) {
  v("text", r.text);
}
template <typename V>
void fields(V& v, ListRequest& r) {
  v.maybe("from", r.from);
}
template <typename V>
void fields(V& v, LinksRequest& r) {
  v("to", r.to);
  v.maybe("from", r.from);
  v.maybe("released", r.released);
}
template <typename V>
void fields(V&, StatusRequest&) {}
template <typename V>
void fields(V& v, RouteRequest& r) {
  v("from", r.from);
  v("to", r.to);
}
template <typename V>
void fields(V& v, DownRequest& r) {
  v.maybe("secret", r.secret);
}
template <typename V>
void fields(V&, OkAnswer&) {}
template <typename V>
void fields(V& v, ErrorAnswer& r) {
  v("code", r.code);
  v("text", r.text);
}
template <typename V>
void fields(V& v, AttachedAnswer& r) {
  v("pid", r.pid);
  v("incarnation", r.incarnation);
  v("index", r.index);
  v("name", r.name);
  v("parent_pid", r.parent_pid);
  v("epoch", r.epoch);
  v("predecessor", r.predecessor);
  v("in_links", r.in_links);
}
template <typename V>
void fields(V& v, OpenedAnswer& r) {
  v("pid", r.pid);
  v("index", r.index);
  v("incarnation", r.incarnation);
  v("may_send", r.may_send);
  v("process", r.process);
  v("foreign", r.foreign);
  v("ended", r.ended);
}
template <typename V>
void fields(V& v, ResumedAnswer& r) {
  v("index", r.index);
  v("epoch", r.epoch);
  v("in_links", r.in_links);
  v("all_known_of", r.all_known_of);
}
template <typename V>
void fields(V& v, ListedAgent& r) {
  v("index", r.index);
  v("pid", r.pid);
  v("parent", r.parent);
  v("name", r.name);
  v("role", r.role);
  v("state", r.state);
  v("incarnation", r.incarnation);
  v("os_pid", r.os_pid);
  v.maybe("uid", r.uid);
  v("temporary", r.temporary);
  v.maybe("activity", r.activity);
  v.maybe("attached_ns", r.attached_ns);
  v.maybe("restarts", r.restarts);
  v.maybe("away_ns", r.away_ns);
}
template <typename V>
void fields(V& v, ListAnswer& r) {
  v("agents", r.agents);
  v("next", r.next);
}
template <typename V>
void fields(V& v, shm::LinkKey& r) {
  v("incarnation", r.incarnation);
  v("serial", r.serial);
}
template <typename V>
void fields(V& v, LinksAnswer& r) {
  v("links", r.links);
  v("next", r.next);
}
template <typename V>
void fields(V& v, StatusAnswer& r) {
  v("hive", r.hive);
  v("version", r.version);
  v("keeper_pid", r.keeper_pid);
  v("coordinator_pid", r.coordinator_pid);
  v("since", r.since);
  v("restarts", r.restarts);
  v("epoch", r.epoch);
  v("agents", r.agents);
  v("running", r.running);
  v("away", r.away);
  v("links", r.links);
  v("clients", r.clients);
  v("dropped_clients", r.dropped_clients);
  v("quarantined_links", r.quarantined_links);
  v("dead_letters", r.dead_letters);
  v("dead_letters_kept", r.dead_letters_kept);
  v("pids_used", r.pids_used);
  v("pids_left", r.pids_left);
}
template <typename V>
void fields(V& v, RouteAnswer& r) {
  v("allowed", r.allowed);
  v("rule", r.rule);
  v("text", r.text);
  v("from", r.from);
  v("to", r.to);
  v("via", r.via);
}
template <typename V>
void fields(V& v, OwnLink& r) {
  v("serial", r.serial);
  v("contract", r.contract);
}
template <typename V>
void fields(V& v, LinkAnnouncement& r) {
  v("pid", r.pid);
  v("name", r.name);
  v("index", r.index);
  v("incarnation", r.incarnation);
  v("serial", r.serial);
  v("contract", r.contract);
  v("may_send", r.may_send);
  v("process", r.process);
  v("foreign", r.foreign);
  v("opened_ns", r.opened_ns);
  v.maybe("released", r.released);
  v.maybe("mine", r.mine);
}
template <typename V>
void fields(V& v, DiedAnnouncement& r) {
  v("pid", r.pid);
  v("name", r.name);
  v("incarnation", r.incarnation);
  v("state", r.state);
}
template <typename V>
void fields(V& v, FadedAnnouncement& r) {
  v("incarnation", r.incarnation);
  v("serial", r.serial);
}
template <typename V>
void fields(V& v, EndedAnnouncement& r) {
  v("pid", r.pid);
  v("incarnation", r.incarnation);
  v("serial", r.serial);
  v("what", r.what);
}
template <typename V>
void fields(V& v, ShutdownAnnouncement& r) {
  v("reason", r.reason);
}
template <typename V>
void fields(V& v, DroppedAnnouncement& r) {
  v("code", r.code);
  v("text", r.text);
}
template <typename V>
void fields(V& v, LettersRequest& r) {
  v("to", r.to);
  v("what", r.what);
  v.maybe("id", r.id);
  v.maybe("of", r.of);
  v.maybe("until_ns", r.until_ns);
}
template <typename V>
void fields(V& v, LettersDoneRequest& r) {
  v("ticket", r.ticket);
  v("count", r.count);
  v.maybe("text", r.text);
}
template <typename V>
void fields(V& v, KeptLettersRequest& r) {
  v.maybe("from", r.from);
}
template <typename V>
void fields(V& v, KeptLetterRequest& r) {
  v("id", r.id);
  v("to", r.to);
}
template <typename V>
void fields(V& v, ForgetRequest& r) {
  v("name", r.name);
  v.maybe("purge", r.purge);
}
template <typename V>
void fields(V& v, LettersAnswer& r) {
  v("count", r.count);
}
template <typename V>
void fields(V& v, KeptLetter& r) {
  v("number", r.number);
  v("id", r.id);
  v("reply_to", r.reply_to);
  v("from", r.from);
  v("from_name", r.from_name);
  v("to", r.to);
  v("to_name", r.to_name);
  v("type", r.type);
  v("channel", r.channel);
  v("rank", r.rank);
  v("attempts", r.attempts);
  v("length", r.length);
  v("kept", r.kept);
  v("reason", r.reason);
  v("age_ms", r.age_ms);
  v("preview", r.preview);
  v("hops", r.hops);
  v("cause", r.cause);
  v("trace", r.trace);
}
template <typename V>
void fields(V& v, KeptLettersAnswer& r) {
  v("letters", r.letters);
  v("next", r.next);
}
template <typename V>
void fields(V& v, KeptLetterAnswer& r) {
  v("letter", r.letter);
}
template <typename V>
void fields(V& v, AwaitRequest& r) {
  v("name", r.name);
  v.maybe("process", r.process);
}
template <typename V>
void fields(V& v, HistoryRequest& r) {
  v.maybe("level", r.level);
}
template <typename V>
void fields(V& v, ReserveRequest& r) {
  v("secret", r.secret);
  v.maybe("pid", r.pid);
  v.maybe("name", r.name);
  v.maybe("parent", r.parent);
  v.maybe("role", r.role);
  v.maybe("uid", r.uid);
}
template <typename V>
void fields(V& v, WatchRequest& r) {
  v("secret", r.secret);
}
template <typename V>
void fields(V& v, ReservedAnswer& r) {
  v("pid", r.pid);
  v("name", r.name);
  v("ticket", r.ticket);
}
template <typename V>
void fields(V& v, LifeAnnouncement& r) {
  v("what", r.what);
  v.maybe("pid", r.pid);
  v.maybe("parent", r.parent);
  v.maybe("name", r.name);
  v.maybe("dead", r.dead);
  v.maybe("text", r.text);
}
template <typename V>
void fields(V& /*v*/, RecordRequest& /*r*/) {}
template <typename V>
void fields(V& v, HistoryAnswer& r) {
  v("level", r.level);
  v("kept", r.kept);
  v("most", r.most);
}
template <typename V>
void fields(V& v, CameAnnouncement& r) {
  v("pid", r.pid);
  v("name", r.name);
}
template <typename V>
void fields(V& v, LettersAnnouncement& r) {
  v("ticket", r.ticket);
  v("what", r.what);
  v("id", r.id);
  v("until_ns", r.until_ns);
}

}  // namespace beeline::control
