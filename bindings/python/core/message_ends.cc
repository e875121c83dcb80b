// The methods of a Message: those that end its lease, and those that answer.

#include <cstring>

#include "bindings/python/core/draft.h"
#include "bindings/python/core/message.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/values.h"
#include "bindings/python/core/wait.h"

namespace beeline::python {
namespace {

using EndWithText = void (*)(beeline_message*, const char*, std::size_t);

template <EndWithText End>
PyObject* end_with_text(Message& self, const Signature<1>& signature, const Call& call,
                        const char* name) {
  Values<1> values;
  Payload text;
  if (!values.read(self.attachment().state(), signature, call) || !text.read(values[0], name) ||
      !self.may_end_readable(signature.function)) {
    return nullptr;
  }
  End(self.handle, text.text(), text.size());
  return Py_NewRef(Py_None);
}

PyObject* done(Message& self, const Call& call) {
  constexpr auto kDone = signature("done", std::array{Name::kReply}, 0);
  return end_with_text<beeline_message_done>(self, kDone, call, "a reply");
}

PyObject* reject(Message& self, const Call& call) {
  constexpr auto kReject = signature("reject", std::array{Name::kReason}, 0);
  return end_with_text<beeline_message_reject>(self, kReject, call, "a reason");
}

template <void (*End)(beeline_message*)>
PyObject* end(Message& self, const char* function, const Call& call) {
  if (!no_arguments(self.attachment().state(), function, call) ||
      !self.may_end_readable(function)) {
    return nullptr;
  }
  End(self.handle);
  return Py_NewRef(Py_None);
}

PyObject* requeue(Message& self, const Call& call) {
  return end<beeline_message_requeue>(self, "requeue", call);
}

PyObject* put_back(Message& self, const Call& call) {
  return end<beeline_message_put_back>(self, "put_back", call);
}

PyObject* defer(Message& self, const Call& call) {
  if (!no_arguments(self.attachment().state(), "defer", call) || !self.enter()) {
    return nullptr;
  }
  beeline_message_defer(self.handle);
  self.is_deferred = true;
  return Py_NewRef(Py_None);
}

PyObject* escalate(Message& self, const Call& call) {
  State& state = self.attachment().state();
  if (!no_arguments(state, "escalate", call) || !self.may_end_readable("escalate")) {
    return nullptr;
  }
  beeline_code code = BEELINE_OK;
  {
    // The link to the parent may be a new one.
    const Released released;
    code = beeline_message_escalate(self.handle);
  }
  return code == BEELINE_OK ? Py_NewRef(Py_None) : raise(state, code);
}

// The answer to a deferred message ends it.
bool may_reply(Message& self, const char* function) {
  return self.is_deferred ? self.may_end_readable(function) : self.enter();
}

constexpr auto kReplyNowait =
    signature("reply_nowait", std::array{Name::kPayload}, 1, kSendOptions);

PyObject* reply_nowait(Message& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kReplyNowait.names.size()> values;
  Draft draft;
  if (!values.read(agent.state(), kReplyNowait, call) || !draft.read(values[0], values.from(1)) ||
      !draft.enter(agent, nullptr) || !may_reply(self, "reply_nowait")) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  {
    // The first reply to an agent opens the link.
    const Released released;
    code = beeline_reply(self.handle, draft.payload.data(), draft.payload.size(), 0,
                         draft.options.get(), &id);
  }
  return id_or_raise(agent, code, id);
}

constexpr auto kWaitReply =
    signature("_wait_reply", std::array{Name::kTimeoutNs, Name::kPayload}, 2, kSendOptions);

PyObject* wait_reply(Message& self, const Call& call) {
  Attachment& agent = self.attachment();
  Values<kWaitReply.names.size()> values;
  Draft draft;
  std::int64_t timeout_ns = 0;
  if (!values.read(agent.state(), kWaitReply, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns) ||
      !draft.read(values[1], values.from(2)) || !draft.enter(agent, nullptr) ||
      !may_reply(self, "_wait_reply")) {
    return nullptr;
  }
  beeline_id id = 0;
  beeline_code code = BEELINE_OK;
  const auto send = [&](std::int64_t ns) {
    code = beeline_reply(self.handle, draft.payload.data(), draft.payload.size(), ns,
                         draft.options.get(), &id);
  };
  if (!self.describe()) return nullptr;
  // The first reply opens the link if there is none; until then there is no room to wait for.
  const Ref sender(PyLong_FromUnsignedLong(self.info.from));
  if (!sender || !agent.resolve(sender.get(), &draft.peer)) return nullptr;
  self.is_waiting = self.is_deferred;
  const bool is_good = wait_for_room(agent, agent.with_slot(draft.peer), timeout_ns,
                                     draft.payload.size(), code, send);
  self.is_waiting = false;
  if (!is_good) return nullptr;
  return id_or_raise(agent, code, id);
}

PyObject* copy(Message& self, const Call& call) {
  if (!no_arguments(self.attachment().state(), "copy", call) || !self.enter()) {
    return nullptr;
  }
  std::size_t length = 0;
  const void* bytes = beeline_message_payload(self.handle, &length);
  if (length <= kMostBytesWithGil) {
    return PyBytes_FromStringAndSize(static_cast<const char*>(bytes),
                                     static_cast<Py_ssize_t>(length));
  }
  Ref made(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length)));
  if (!made) return nullptr;
  // Nobody else knows the new object yet, so its bytes may be written.
  char* into = PyBytes_AsString(made.get());
  {
    const Released released;
    std::memcpy(into, bytes, length);
  }
  return made.release();
}

}  // namespace

bool Message::may_end(const char* function) {
  if (!enter()) return false;
  if (views == 0) return true;
  raise_views("message", function, views);
  return false;
}

bool Message::may_end_readable(const char* function) { return may_end(function) && describe(); }

PyMethodDef* message_methods() {
  static PyMethodDef methods[] = {
      method<Message, done>("done", "Handled. A text answers a request that got no reply."),
      method<Message, requeue>("requeue", "Back to its place, one attempt more."),
      method<Message, put_back>("put_back", "Back to its place as if never handed out."),
      method<Message, reject>("reject", "Makes it a dead letter."),
      method<Message, defer>("defer", "Takes it over: an answer ends it later."),
      method<Message, escalate>("escalate", "Hands it to the parent."),
      method<Message, reply_nowait>("reply_nowait", "Answers it. Returns the MessageId."),
      method<Message, wait_reply>("_wait_reply", "Answers it, and waits for room."),
      method<Message, copy>("copy", "The payload as bytes of its own."),
      {}};
  return methods;
}

}  // namespace beeline::python
