// The methods of class Agent for requests.

#include <algorithm>

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

// Keeps an answer of the library; the words of an error are those of the last call. False: an
// exception is set.
bool keep(Attachment& agent, beeline_code code, const beeline_answer& answer, KeptAnswer& into) {
  into.id = answer.id;
  into.message = answer.message;
  if (code == BEELINE_OK && answer.code == BEELINE_OK) return true;
  into.error = Ref(exception_of(agent.state(), code == BEELINE_OK ? answer.code : code));
  return static_cast<bool>(into.error);
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
    beeline_answer next{};
    const beeline_code code = beeline_next_answer(agent.handle(), &next);
    if (code == BEELINE_NOTHING) return Py_NewRef(Py_None);
    if (!keep(agent, code, next, answer)) return nullptr;
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

// Looks for the next answer until there is one or so many nanoseconds are over. The exception of a
// failed one needs the GIL, so its caller makes it.
beeline_code next_answer_within(Attachment& agent, std::int64_t ns, beeline_answer& answer) {
  const Wait wait(agent, ns);
  beeline_code code = beeline_next_answer(agent.handle(), &answer);
  while (code == BEELINE_NOTHING && !wait.is_over()) {
    const beeline_code look = beeline_look_for_answers(agent.handle());
    // The end of the hive comes behind the last answers.
    code = beeline_next_answer(agent.handle(), &answer);
    if (code == BEELINE_NOTHING && look != BEELINE_OK) return look;
  }
  return code;
}

auto find_kept(Attachment& agent, beeline_id id) {
  auto& kept = agent.kept_answers();
  return std::find_if(kept.begin(), kept.end(),
                      [id](const KeptAnswer& each) { return each.id == id; });
}

bool has_kept(Attachment& agent, beeline_id id) {
  return find_kept(agent, id) != agent.kept_answers().end();
}

// Takes an answer that another wait has fetched: that of a signal handler, which may ask, too.
bool take_kept(Attachment& agent, beeline_id id, KeptAnswer& answer) {
  if (!has_kept(agent, id)) return false;
  const auto found = find_kept(agent, id);
  answer = std::move(*found);
  agent.kept_answers().erase(found);
  return true;
}

// Waits for the answer to a request; the library ends the wait at its deadline. False: an exception
// is set.
bool wait_for_answer(Attachment& agent, beeline_id id, KeptAnswer& answer) {
  beeline_answer next{};
  beeline_code code = BEELINE_NOTHING;
  bool is_kept = false;
  const auto attempt = [&](std::int64_t ns) {
    // The time 0 means that this thread has the GIL, which guards the answers that are kept.
    is_kept = ns == 0 && take_kept(agent, id, answer);
    if (is_kept) return Turn::kDone;
    code = next_answer_within(agent, ns, next);
    return code == BEELINE_NOTHING ? Turn::kAgain : Turn::kDone;
  };
  const auto has_news = [&](const beeline_readiness& found) {
    return found.answers > 0 || has_kept(agent, id);
  };
  while (Wait(agent, BEELINE_FOREVER).run(attempt, has_news)) {
    if (is_kept) return true;
    if (!keep(agent, code, next, answer)) return false;
    if (code != BEELINE_OK || answer.id == id) return true;
    // It answers another request.
    agent.kept_answers().push_back(std::exchange(answer, {}));
  }
  return false;
}

// The message, or null with the exception set.
PyObject* message_or_raise(Agent& self, KeptAnswer answer) {
  const Ref result(result_of(self, std::move(answer)));
  if (!result || PyExceptionInstance_Check(result.get()) == 0) {
    return Ref::to(result.get()).release();
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(result.get())), result.get());
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
  if (code != BEELINE_OK) return raise(agent.state(), code);
  KeptAnswer answer;
  if (wait_for_answer(agent, id, answer)) return message_or_raise(self, std::move(answer));
  if (!agent.is_closed() && !agent.is_copy()) (void)beeline_forget(agent.handle(), id);
  return nullptr;
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
