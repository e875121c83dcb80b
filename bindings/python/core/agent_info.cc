#include "bindings/python/core/agent_info.h"

#include <cstring>

#include "bindings/python/core/listing.h"

namespace beeline::python {
namespace {

constexpr double kMsPerSecond = 1e3;

PyObject* boolean(bool value) { return value ? Py_True : Py_False; }

PyObject* dict_of(const beeline_agent_info& info) {
  return Py_BuildValue(
      "{sIsIsssssisIsLsLsisIsKsO}", "pid", info.pid, "parent", info.parent, "name", info.name,
      "role", info.role, "state", static_cast<int>(info.state), "children", info.children,
      "started_unix_ns", static_cast<long long>(info.started_unix_ns), "away_unix_ns",
      static_cast<long long>(info.away_unix_ns), "os_pid", static_cast<int>(info.os_pid), "uid",
      info.uid, "restarts", static_cast<unsigned long long>(info.restarts), "temporary",
      boolean(info.temporary));
}

// A sender may have given any bytes.
Ref word_of(const char* word) {
  return Ref(PyUnicode_DecodeUTF8(word, static_cast<Py_ssize_t>(std::strlen(word)), "replace"));
}

PyObject* dict_of(State& state, const beeline_inbox_item& item) {
  const Ref id(state.message_id(item.id));
  const Ref reply_to(state.message_id(item.reply_to));
  const Ref cause(state.message_id(item.cause));
  const Ref ttl(item.ttl_ms == 0 ? Py_NewRef(Py_None)
                                 : PyFloat_FromDouble(item.ttl_ms / kMsPerSecond));
  const Ref type(word_of(item.type));
  const Ref channel(word_of(item.channel));
  if (!id || !reply_to || !cause || !ttl || !type || !channel) return nullptr;
  return Py_BuildValue("{sOsIsssOsOsIsisIsIsLsOsOsssOsOsssy#}", "id", id.get(), "sender", item.from,
                       "sender_name", item.from_name, "reply_to", reply_to.get(), "cause",
                       cause.get(), "hops", item.hops, "rank", static_cast<int>(item.rank),
                       "length", item.length, "attempts", item.attempts, "sent_ns",
                       static_cast<long long>(item.sent_ns), "ttl", ttl.get(), "requires_ack",
                       boolean(item.requires_ack), "place", beeline_place_name(item.place), "type",
                       type.get(), "channel", channel.get(), "reason", item.reason, "preview",
                       item.preview == nullptr ? "" : static_cast<const char*>(item.preview),
                       static_cast<Py_ssize_t>(item.preview_length));
}

using Agents = Listing<beeline_agents, beeline_agents_free>;

}  // namespace

PyObject* agent_dicts(beeline_agents* agents) {
  const Agents owned(agents);
  return owned.list([](const beeline_agent_info& info) { return dict_of(info); });
}

PyObject* agent_dict(beeline_agents* agents) {
  const Agents owned(agents);
  return dict_of((*owned).items[0]);
}

PyObject* inbox_dicts(State& state, const beeline_inbox& inbox) {
  Ref list(PyList_New(0));
  for (std::size_t at = 0; list && at < inbox.count; ++at) {
    const Ref item(dict_of(state, inbox.items[at]));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace beeline::python
