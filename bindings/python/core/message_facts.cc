// The facts about a Message.

#include <cstring>

#include "bindings/python/core/message.h"
#include "bindings/python/core/send_options.h"

namespace beeline::python {
namespace {

constexpr double kMsPerSecond = 1e3;

// A fact that the description has.
template <PyObject* (*Convert)(Message&)>
PyObject* fact(Message& self) {
  return self.describe() ? Convert(self) : nullptr;
}

template <auto Member>
PyObject* number(Message& self) {
  return PyLong_FromUnsignedLongLong(static_cast<std::uint64_t>(self.info.*Member));
}

template <auto Member>
PyObject* signed_number(Message& self) {
  return PyLong_FromLongLong(self.info.*Member);
}

template <auto Member>
PyObject* flag(Message& self) {
  return PyBool_FromLong(self.info.*Member);
}

template <auto Member>
PyObject* id(Message& self) {
  return self.attachment().state().message_id(self.info.*Member);
}

template <auto Member>
PyObject* word(Message& self) {
  return self.attachment().words().str(self.info.*Member);
}

PyObject* sender_name(Message& self) { return Py_NewRef(self.sender_name); }
PyObject* relation(Message& self) { return PyLong_FromLong(self.relation); }
PyObject* trace(Message& self) { return trace_text(self.info.trace); }

PyObject* ttl(Message& self) {
  if (self.info.ttl_ms == 0) return Py_NewRef(Py_None);
  return PyFloat_FromDouble(self.info.ttl_ms / kMsPerSecond);
}

// The library walks up the tree for it, which takes longer than all other facts together.
PyObject* via(Message& self) {
  if (!self.has_via) {
    if (!self.enter()) return nullptr;
    self.via = beeline_message_via(self.handle);
    self.has_via = true;
  }
  return PyLong_FromUnsignedLong(self.via);
}

PyObject* agent(Message& self) { return Py_NewRef(reinterpret_cast<PyObject*>(self.agent)); }

PyObject* held(Message& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter_closed()) return nullptr;
  return PyBool_FromLong(!owner.is_closed() && beeline_message_is_held(self.handle));
}

PyObject* cancelled(Message& self) {
  Attachment& owner = self.attachment();
  if (!owner.enter_closed()) return nullptr;
  return PyBool_FromLong(owner.is_closed() || beeline_message_is_cancelled(self.handle));
}

PyObject* payload(Message& self) {
  return PyMemoryView_FromObject(reinterpret_cast<PyObject*>(&self));
}

PyObject* text(Message& self) {
  if (!self.enter()) return nullptr;
  std::size_t length = 0;
  const void* bytes = beeline_message_payload(self.handle, &length);
  return PyUnicode_DecodeUTF8(static_cast<const char*>(bytes), static_cast<Py_ssize_t>(length),
                              "strict");
}

template <PyObject* (*Convert)(Message&)>
PyGetSetDef fact(const char* name, const char* doc) {
  return getter<Message, fact<Convert>>(name, doc);
}

}  // namespace

bool Message::describe() {
  if (is_described) return true;
  if (!enter()) return false;
  info.size = sizeof info;
  const beeline_code code = beeline_message_describe(handle, &info);
  if (code != BEELINE_OK) {
    raise(attachment().state(), code);
    return false;
  }
  std::size_t length = 0;
  const char* name = beeline_message_from_name(handle, &length);
  sender_name = attachment().words().str({name, length});
  if (sender_name == nullptr) return false;
  relation = beeline_message_relation(handle);
  is_described = true;
  return true;
}

PyGetSetDef* message_facts() {
  using Info = beeline_message_info;
  static PyGetSetDef getters[] = {
      getter<Message, agent>("agent", "The agent that holds it."),
      getter<Message, held>("held", "False once the lease has ended."),
      fact<id<&Info::id>>("id", "Its MessageId."),
      fact<number<&Info::from>>("sender", "Pid of the sender; it cannot be forged."),
      fact<sender_name>("sender_name", "Name of the sender; empty if it was forgotten."),
      fact<number<&Info::to>>("to", "This agent; for a copy the other child."),
      getter<Message, via>("via",
                           "Pid of the nearest common ancestor; 0: one is the other's parent."),
      fact<relation>("relation", "The relation of the sender to this agent."),
      fact<signed_number<&Info::rank>>("rank", "Its rank as the receiver computed it."),
      fact<word<&Info::type>>("type", "Its type."),
      fact<word<&Info::channel>>("channel", "Its channel."),
      fact<id<&Info::reply_to>>("reply_to", "The message that it answers; 0: none."),
      fact<id<&Info::cause>>("cause", "The message that began it all."),
      fact<number<&Info::hops>>("hops", "How many messages lie between it and its cause."),
      fact<trace>("trace", "Its `traceparent` text; empty: none."),
      fact<signed_number<&Info::sent_ns>>("sent_ns", "When it was sent, by CLOCK_MONOTONIC."),
      fact<ttl>("ttl", "Its time to live in seconds; None: it never expires."),
      fact<number<&Info::attempts>>("attempts", "Deliveries before this one without done()."),
      fact<flag<&Info::redelivered>>("redelivered", "It was handed out before."),
      fact<flag<&Info::is_copy>>("is_copy", "A copy of a message between two children."),
      fact<flag<&Info::is_cut>>("is_cut", "The payload is only the start of the original."),
      fact<number<&Info::full_length>>("full_length", "Bytes of the original."),
      fact<flag<&Info::is_control>>("is_control", "From an agent above, by control()."),
      fact<flag<&Info::requires_ack>>("requires_ack", "The sender waits for a word."),
      getter<Message, cancelled>("cancelled", "Its sender has taken it back, or it has ended."),
      getter<Message, payload>("payload", "A read-only view of the payload."),
      getter<Message, text>("text", "The payload as UTF-8."),
      {}};
  return getters;
}

}  // namespace beeline::python
