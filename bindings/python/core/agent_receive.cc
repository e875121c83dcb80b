// The methods of class Agent that receive.

#include <vector>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/draft.h"
#include "bindings/python/core/message.h"
#include "bindings/python/core/readiness.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

using Turn = Wait::Turn;

// More leases at once than any inbox holds.
constexpr std::int64_t kMostOfBatch = 65536;

// Whether something came into the inbox since the last report. A filter may match nothing of an
// inbox that is full of other messages, so their number says nothing.
class News {
 public:
  explicit News(Attachment& agent) : agent_(agent) {}

  bool operator()(const beeline_readiness& found) {
    beeline_counters counters;
    counters.size = sizeof counters;
    if (found.messages == 0 || beeline_count(agent_.handle(), &counters) != BEELINE_OK)
      return false;
    // A message whose retry pause has ended was drained before.
    const std::uint64_t drained = counters.drained + counters.requeued;
    return std::exchange(drained_, drained) != drained;
  }

 private:
  Attachment& agent_;
  std::uint64_t drained_ = 0;
};

PyObject* message_or_none(Agent& self, beeline_code code, beeline_message* message) {
  if (code == BEELINE_OK) return make_message(self, message);
  if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
  return raise(self.attachment().state(), code);
}

PyObject* list_of(Agent& self, const std::vector<beeline_message*>& messages, std::size_t count) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t at = 0; at < count; ++at) {
    // After a failure the others go back, too.
    PyObject* message = nullptr;
    if (list) {
      message = make_message(self, messages[at]);
    } else {
      beeline_message_put_back(messages[at]);
      beeline_message_free(messages[at]);
    }
    if (message == nullptr || PyList_SetItem(list.get(), static_cast<Py_ssize_t>(at), message)) {
      list = Ref();
    }
  }
  return list.release();
}

constexpr auto kTryReceive = signature("try_receive", std::array<Name, 0>{}, 0, kFilterOptions);

PyObject* try_receive(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kTryReceive.names.size()> values;
  Filter filter;
  if (!values.read(agent.state(), kTryReceive, call) || !filter.read(values.from(0)) ||
      !agent.enter()) {
    return nullptr;
  }
  beeline_message* message = nullptr;
  const beeline_code code = beeline_receive(agent.handle(), 0, filter.get(), &message);
  return message_or_none(self, code, message);
}

constexpr char kReceiveDoc[] =
    "_receive($self, timeout=None, **filter)\n--\n\n"
    "The next message in delivery order. TimeoutError: none has come in that time.\n\n"
    "ClosedError: none will come.";
constexpr auto kReceive = signature("receive", std::array{Name::kTimeout}, 0, kFilterOptions);

PyObject* receive(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kReceive.names.size()> values;
  Filter filter;
  std::int64_t timeout_ns = BEELINE_FOREVER;
  if (!values.read(agent.state(), kReceive, call) || !read_timeout(values[0], &timeout_ns) ||
      !filter.read(values.from(1)) || !agent.enter()) {
    return nullptr;
  }
  beeline_message* message = nullptr;
  beeline_code code = BEELINE_NOTHING;
  const auto attempt = [&](std::int64_t ns) {
    code = beeline_receive(agent.handle(), ns, filter.get(), &message);
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  // Most receives find a message, and make no wait.
  if (attempt(0) == Turn::kAgain && !Wait(agent, timeout_ns).run(attempt, News(agent))) {
    return nullptr;
  }
  if (code == BEELINE_NOTHING) {
    PyErr_Format(PyExc_TimeoutError, "no message has come in %R s", values[0]);
    return nullptr;
  }
  Ref made(message_or_none(self, code, message));
  return made && agent.state().make_current(made.get()) ? made.release() : nullptr;
}

constexpr auto kTryReceiveBatch =
    signature("try_receive_batch", std::array{Name::kMost}, 1, kFilterOptions);

PyObject* try_receive_batch(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kTryReceiveBatch.names.size()> values;
  Filter filter;
  std::size_t most = 0;
  if (!values.read(agent.state(), kTryReceiveBatch, call) || !filter.read(values.from(1)) ||
      !read_number(values[0], "most", &most, 1, kMostOfBatch) || !agent.enter()) {
    return nullptr;
  }
  std::vector<beeline_message*> messages(most);
  std::size_t count = 0;
  const beeline_code code =
      beeline_receive_batch(agent.handle(), 0, filter.get(), messages.data(), most, &count);
  if (code != BEELINE_OK && code != BEELINE_NOTHING) return raise(agent.state(), code);
  return list_of(self, messages, count);
}

constexpr auto kWaitReceiveBatch =
    signature("_wait_receive_batch", std::array{Name::kMost, Name::kTimeoutNs}, 2, kFilterOptions);

PyObject* wait_receive_batch(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kWaitReceiveBatch.names.size()> values;
  Filter filter;
  std::size_t most = 0;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kWaitReceiveBatch, call) || !filter.read(values.from(2)) ||
      !read_number(values[0], "most", &most, 1, kMostOfBatch) ||
      !read_number(values[1], "timeout_ns", &timeout_ns) || !agent.enter()) {
    return nullptr;
  }
  std::vector<beeline_message*> messages(most);
  std::size_t count = 0;
  beeline_code code = BEELINE_NOTHING;
  const auto attempt = [&](std::int64_t ns) {
    count = 0;
    code = beeline_receive_batch(agent.handle(), ns, filter.get(), messages.data(), most, &count);
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  if (!Wait(agent, timeout_ns).run(attempt, News(agent))) return nullptr;
  if (code != BEELINE_OK && code != BEELINE_NOTHING) return raise(agent.state(), code);
  return list_of(self, messages, count);
}

PyObject* poll(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "poll", call) || !agent.enter()) {
    return nullptr;
  }
  beeline_readiness found;
  found.size = sizeof found;
  const beeline_code code = beeline_poll(agent.handle(), &found);
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return make_readiness(agent, found);
}

PyObject* wait_for_anything(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), signature("_wait", std::array{Name::kTimeoutNs}), call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) || !agent.enter()) {
    return nullptr;
  }
  beeline_readiness found;
  found.size = sizeof found;
  beeline_code code = BEELINE_OK;
  const auto is_there = [&](const beeline_readiness& now) { return is_any(agent, now); };
  const auto attempt = [&](std::int64_t ns) {
    Wait::poll_until(agent, ns, is_there);
    code = beeline_poll(agent.handle(), &found);
    return code != BEELINE_OK || is_there(found) ? Turn::kDone : Turn::kAgain;
  };
  if (!Wait(agent, timeout_ns).run(attempt, is_there)) return nullptr;
  if (code != BEELINE_OK) return raise(agent.state(), code);
  return make_readiness(agent, found);
}

PyObject* next_result(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_result", call) || !agent.enter()) {
    return nullptr;
  }
  beeline_message* message = nullptr;
  const beeline_code code = beeline_next_result(agent.handle(), &message);
  return message_or_none(self, code, message);
}

}  // namespace

PyMethodDef* receive_methods() {
  static PyMethodDef methods[] = {
      method<Agent, try_receive>("try_receive", "The next message, or None: there is none now."),
      method<Agent, try_receive_batch>("try_receive_batch", "At most so many next messages."),
      method<Agent, receive>("_receive", kReceiveDoc),
      method<Agent, wait_receive_batch>("_wait_receive_batch", "Waits for the next messages."),
      method<Agent, poll>("poll", "Looks, takes nothing, and arms the descriptor."),
      method<Agent, wait_for_anything>("_wait", "Waits until poll() would say something."),
      method<Agent, next_result>("next_result", "The next answer that receive() hands out never."),
      {}};
  return methods;
}

}  // namespace beeline::python
