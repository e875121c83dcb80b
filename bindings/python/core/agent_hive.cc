// The methods of class Agent about the hive around it.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/agent_info.h"
#include "bindings/python/core/listing.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/send_options.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

// A call that waits for the coordinator and fills a list of agents.
template <typename Ask>
beeline_code ask(Ask call) {
  const Released released;
  return call();
}

PyObject* siblings(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "_siblings", call) || !agent.enter()) return nullptr;
  beeline_agents* agents = nullptr;
  const beeline_code code = ask([&] { return beeline_siblings(agent.handle(), &agents); });
  return code == BEELINE_OK ? agent_dicts(agents) : raise(agent.state(), code);
}

PyObject* children(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  bool recursive = false;
  if (!values.read(agent.state(), signature("_children", std::array{Name::kRecursive}, 0), call) ||
      !read_flag(values[0], &recursive) || !agent.enter()) {
    return nullptr;
  }
  beeline_agents* agents = nullptr;
  const beeline_code code =
      ask([&] { return beeline_children(agent.handle(), recursive, &agents); });
  return code == BEELINE_OK ? agent_dicts(agents) : raise(agent.state(), code);
}

PyObject* info(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_pid pid = 0;
  if (!values.read(agent.state(), signature("_info", std::array{Name::kPid}, 0), call) ||
      !read_number(values[0], "pid", &pid) || !agent.enter()) {
    return nullptr;
  }
  beeline_agents* agents = nullptr;
  const beeline_code code = ask([&] { return beeline_info(agent.handle(), pid, &agents); });
  return code == BEELINE_OK ? agent_dict(agents) : raise(agent.state(), code);
}

PyObject* find(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  const char* name = "";
  std::size_t length = 0;
  if (!values.read(agent.state(), signature("_find", std::array{Name::kName}), call) ||
      !read_text(values[0], "name", &name, &length) || !agent.enter()) {
    return nullptr;
  }
  beeline_agents* agents = nullptr;
  const beeline_code code =
      ask([&] { return beeline_find(agent.handle(), name, length, &agents); });
  return code == BEELINE_OK ? agent_dict(agents) : raise(agent.state(), code);
}

constexpr auto kInboxNowait =
    signature("inbox_nowait", std::array{Name::kLimit}, 0, kFilterOptions);
constexpr std::size_t kMostListed = 1000;

PyObject* inbox_nowait(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kInboxNowait.names.size()> values;
  Filter filter;
  std::size_t limit = kMostListed;
  if (!values.read(agent.state(), kInboxNowait, call) ||
      !read_number(values[0], "limit", &limit, 0, PY_SSIZE_T_MAX) || !filter.read(values.from(1)) ||
      !agent.enter()) {
    return nullptr;
  }
  beeline_inbox* inbox = nullptr;
  const beeline_code code = beeline_list_inbox(agent.handle(), limit, filter.get(), &inbox);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  const Listing<beeline_inbox, beeline_inbox_free> owned(inbox);
  return inbox_dicts(agent.state(), *owned);
}

struct Counter {
  const char* name;
  std::uint64_t beeline_counters::*member;
};
constexpr Counter kCounters[] = {
    {"drained", &beeline_counters::drained},
    {"queued", &beeline_counters::queued},
    {"tasks", &beeline_counters::tasks},
    {"leased", &beeline_counters::leased},
    {"done", &beeline_counters::done},
    {"dead", &beeline_counters::dead},
    {"purged", &beeline_counters::purged},
    {"requeued", &beeline_counters::requeued},
    {"quarantined_links", &beeline_counters::quarantined_links},
    {"late_replies", &beeline_counters::late_replies},
    {"acks_dropped", &beeline_counters::acks_dropped},
    {"acks_unread", &beeline_counters::acks_unread},
    {"copies_dropped", &beeline_counters::copies_dropped},
    {"notices_dropped", &beeline_counters::notices_dropped},
};

PyObject* counters(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "_counters", call) || !agent.enter()) return nullptr;
  beeline_counters found;
  found.size = sizeof found;
  const beeline_code code = beeline_count(agent.handle(), &found);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  Ref dict(PyDict_New());
  for (const Counter& counter : kCounters) {
    if (!dict) return nullptr;
    const Ref value(PyLong_FromUnsignedLongLong(found.*counter.member));
    if (!value || PyDict_SetItemString(dict.get(), counter.name, value.get()) != 0) return nullptr;
  }
  return dict.release();
}

PyObject* arrivals(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "_arrivals", call) || !agent.enter()) return nullptr;
  beeline_counters found;
  found.size = sizeof found;
  const beeline_code code = beeline_count(agent.handle(), &found);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return Py_BuildValue("(KK)", static_cast<unsigned long long>(found.drained),
                       static_cast<unsigned long long>(found.late_replies));
}

PyObject* links(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "_links", call) || !agent.enter()) return nullptr;
  beeline_links* found = nullptr;
  const beeline_code code = beeline_list_links(agent.handle(), &found);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  const Listing<beeline_links, beeline_links_free> owned(found);
  return owned.list([](const beeline_link& link) {
    return Py_BuildValue("{sIsOsKsKsKsK}", "peer", link.peer, "is_away",
                         link.is_away ? Py_True : Py_False, "sent",
                         static_cast<unsigned long long>(link.sent), "not_taken",
                         static_cast<unsigned long long>(link.not_taken), "received",
                         static_cast<unsigned long long>(link.received), "copies_dropped",
                         static_cast<unsigned long long>(link.copies_dropped));
  });
}

PyObject* requeue_dead(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_id id = 0;
  if (!values.read(agent.state(), signature("requeue_dead", std::array{Name::kId}), call) ||
      !read_id(values[0], "id", &id) || !agent.enter()) {
    return nullptr;
  }
  const beeline_code code = beeline_requeue_dead(agent.handle(), id);
  return code == BEELINE_OK ? Py_NewRef(Py_None) : raise(agent.state(), code);
}

PyObject* purge_dead(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_id id = 0;
  if (!values.read(agent.state(), signature("purge_dead", std::array{Name::kId}, 0), call) ||
      !read_id(values[0], "id", &id) || !agent.enter()) {
    return nullptr;
  }
  if (id == 0) return PyLong_FromSize_t(beeline_purge_all_dead(agent.handle()));
  return PyLong_FromLong(beeline_purge_dead(agent.handle(), id) ? 1 : 0);
}

PyObject* next_notice(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_notice", call) || !agent.enter()) return nullptr;
  beeline_notice notice{};
  const beeline_code code = beeline_next_notice(agent.handle(), &notice);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return Py_BuildValue("(iIs)", static_cast<int>(notice.kind), notice.pid, notice.name);
}

}  // namespace

PyMethodDef* hive_methods() {
  static PyMethodDef methods[] = {
      method<Agent, siblings>("_siblings", "The other children of the parent."),
      method<Agent, children>("_children", "The children, or all descendants."),
      method<Agent, info>("_info", "The agent of a pid; 0: this one."),
      method<Agent, find>("_find", "The agent that a name means."),
      method<Agent, inbox_nowait>("inbox_nowait", "The messages of the inbox; takes nothing."),
      method<Agent, counters>("_counters", "The counters of the inbox."),
      method<Agent, arrivals>("_arrivals", "(drained, late_replies) of the counters."),
      method<Agent, links>("_links", "The traffic with each peer."),
      method<Agent, requeue_dead>("requeue_dead", "Puts a dead letter back into the inbox."),
      method<Agent, purge_dead>("purge_dead", "Drops a dead letter; 0: all. Returns how many."),
      method<Agent, next_notice>("next_notice", "(kind, pid, name), or None."),
      {}};
  return methods;
}

}  // namespace beeline::python
