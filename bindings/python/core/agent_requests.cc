// The methods of class Agent for requests.

#include "bindings/python/core/agent.h"
#include "bindings/python/core/draft.h"
#include "bindings/python/core/message.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

using Turn = Wait::Turn;

constexpr auto kRequestStart = signature(
    "request_start", std::array{Name::kTo, Name::kPayload, Name::kTimeoutNs}, 3, kSendOptions);

PyObject* request_start(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kRequestStart.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kRequestStart, call) ||
      !read_number(values[2], "timeout_ns", &timeout_ns) ||
      !draft.read(values[1], values.from(3)) || !draft.enter(agent, values[0])) {
    return nullptr;
  }
  beeline_id id = 0;
  const beeline_code code = copying(draft.payload.size(), [&] {
    return beeline_request_start(agent.handle(), draft.peer, draft.payload.data(),
                                 draft.payload.size(), timeout_ns, draft.options.get(), &id);
  });
  return id_or_raise(agent, code, id);
}

// Fetches the next answer of the library. The code says whether there was one; `error` is set where
// it has none. BEELINE_NO_MEMORY: an exception is set.
beeline_code fetch(Attachment& agent, KeptAnswer& into) {
  beeline_answer answer{};
  const beeline_code code = beeline_next_answer(agent.handle(), &answer);
  if (code == BEELINE_NOTHING) return code;
  into.id = answer.id;
  into.message = answer.message;
  if (code == BEELINE_OK && answer.code == BEELINE_OK) return BEELINE_OK;
  into.error = Ref(exception_of(agent.state(), code == BEELINE_OK ? answer.code : code));
  return into.error ? BEELINE_OK : BEELINE_NO_MEMORY;
}

// The message, or the exception.
PyObject* result_of(Agent& self, KeptAnswer answer) {
  return answer.error ? answer.error.release() : make_message(self, answer.message);
}

PyObject* next_answer(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  if (!no_arguments(agent.state(), "next_answer", call) || !agent.enter()) return nullptr;
  KeptAnswer answer;
  if (!agent.kept_answers().empty()) {
    answer = std::move(agent.kept_answers().front());
    agent.kept_answers().pop_front();
  } else {
    const beeline_code code = fetch(agent, answer);
    if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
    if (code != BEELINE_OK) return nullptr;
  }
  const Ref id(agent.state().message_id(answer.id));
  const Ref result(result_of(self, std::move(answer)));
  return id && result ? PyTuple_Pack(2, id.get(), result.get()) : nullptr;
}

PyObject* forget(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<1> values;
  beeline_id id = 0;
  if (!values.read(agent.state(), signature("forget", std::array{Name::kId}), call) ||
      !read_id(values[0], "id", &id) || !agent.enter()) {
    return nullptr;
  }
  return PyBool_FromLong(beeline_forget(agent.handle(), id));
}

// Waits for the answer to a request; the library ends the wait at its deadline. Null: an exception
// is set.
PyObject* wait_for_answer(Agent& self, beeline_id id) {
  Attachment& agent = self.attachment();
  KeptAnswer answer;
  bool has_failed = false;
  const auto attempt = [&](std::int64_t ns) {
    if (ns > 0) {
      Wait::poll_until(agent, ns, [](const beeline_readiness& found) { return found.answers > 0; });
      return Turn::kAgain;
    }
    beeline_code code = fetch(agent, answer);
    for (; code == BEELINE_OK && answer.id != id; code = fetch(agent, answer)) {
      agent.kept_answers().push_back(std::exchange(answer, {}));
    }
    has_failed = code == BEELINE_NO_MEMORY;
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  const auto has_news = [](const beeline_readiness& found) { return found.answers > 0; };
  const bool is_good = Wait(agent, BEELINE_FOREVER).run(attempt, has_news);
  if (is_good && !has_failed) {
    const Ref result(result_of(self, std::move(answer)));
    if (!result || !PyExceptionInstance_Check(result.get())) return Ref::to(result.get()).release();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(result.get())), result.get());
    return nullptr;
  }
  if (!agent.is_closed() && !agent.is_copy()) (void)beeline_forget(agent.handle(), id);
  return nullptr;
}

constexpr auto kWaitRequest = signature(
    "_wait_request", std::array{Name::kTimeoutNs, Name::kTo, Name::kPayload}, 3, kSendOptions);

PyObject* wait_request(Agent& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kWaitRequest.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kWaitRequest, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !draft.read(values[2], values.from(3)) || !draft.enter(agent, values[1])) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  const Wait whole(agent, timeout_ns);
  const auto start = [&](std::int64_t /*ns*/) {
    code = beeline_request_start(agent.handle(), draft.peer, draft.payload.data(),
                                 draft.payload.size(), whole.left(), draft.options.get(), &id);
  };
  if (!wait_for_room(agent, agent.with_slot(draft.peer), timeout_ns, draft.payload.size(), code,
                     start)) {
    return nullptr;
  }
  return code == BEELINE_OK ? wait_for_answer(self, id) : raise(agent.state(), code);
}

}  // namespace

PyMethodDef* request_methods() {
  static PyMethodDef methods[] = {
      method<Agent, request_start>("request_start", "Sends a request; next_answer() answers it."),
      method<Agent, next_answer>("next_answer", "(id, the Message or the exception), or None."),
      method<Agent, forget>("forget", "Gives up a request."),
      method<Agent, wait_request>("_wait_request", "Sends a request and waits for the answer."),
      {}};
  return methods;
}

}  // namespace beeline::python
