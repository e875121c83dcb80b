#include "bindings/python/core/spool_claim.h"

#include <string>

#include "bindings/python/core/payload.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "A claimed task. One that is dropped before its end is put back.";

void free_handle(SpoolOwner& owner, beeline_claim* handle) {
  if (!owner.is_void()) owner.drop([&] { beeline_claim_free(handle); });
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  const SpoolClaim& claim = *reinterpret_cast<SpoolClaim*>(self);
  if (claim.spool != nullptr) {
    free_handle(*claim.spool->owner, claim.handle);
    Py_DECREF(reinterpret_cast<PyObject*>(claim.spool));
  }
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

State& state_of(SpoolClaim& self) { return self.spool->owner->state(); }

// ---- Facts ----

using GetFact = std::string (*)(beeline_claim*);

template <GetFact Get>
PyObject* fact(SpoolClaim& self) {
  std::string copy;
  if (!self.spool->owner->run_claim([&] { copy = Get(self.handle); })) return nullptr;
  return PyUnicode_DecodeUTF8(copy.data(), static_cast<Py_ssize_t>(copy.size()), "replace");
}

std::string id(beeline_claim* handle) { return beeline_claim_id(handle); }
std::string text(beeline_claim* handle) { return beeline_claim_json(handle); }
std::string note(beeline_claim* handle) {
  std::size_t length = 0;
  const char* words = beeline_claim_note(handle, &length);
  return {words, length};
}

PyObject* held(SpoolClaim& self) {
  bool is_held = false;
  if (!self.spool->owner->run_claim([&] { is_held = beeline_claim_is_held(self.handle); })) {
    return nullptr;
  }
  return PyBool_FromLong(is_held);
}

// ---- Methods ----

// Calls `work(text, size)`, which returns a code; the text is the one argument.
template <typename Work>
bool call_with_text(SpoolClaim& self, const char* function, const Call& call, const Work& work) {
  Values<1> values;
  Payload text;
  if (!values.read(state_of(self), signature(function, std::array{Name::kText}), call) ||
      !text.read(values[0], "a text")) {
    return false;
  }
  beeline_spool_code code = BEELINE_SPOOL_OK;
  if (!self.spool->owner->run_claim([&] { code = work(text.text(), text.size()); })) return false;
  if (code != BEELINE_SPOOL_OK) raise_spool(code);
  return code == BEELINE_SPOOL_OK;
}

using TakeText = beeline_spool_code (*)(beeline_claim*, const char*, std::size_t);

template <TakeText Take>
PyObject* take_text(SpoolClaim& self, const Call& call) {
  const bool is_good = call_with_text(self, "this call", call, [&](const char* text, auto size) {
    return Take(self.handle, text, size);
  });
  return is_good ? Py_NewRef(Py_None) : nullptr;
}

PyObject* retry(SpoolClaim& self, const Call& call) {
  bool waits = false;
  const bool is_good = call_with_text(self, "retry", call, [&](const char* text, auto size) {
    return beeline_claim_retry(self.handle, text, size, &waits);
  });
  return is_good ? PyBool_FromLong(waits) : nullptr;
}

PyObject* heartbeat(SpoolClaim& self, const Call& call) {
  if (!no_arguments(state_of(self), "heartbeat", call)) return nullptr;
  beeline_spool_code code = BEELINE_SPOOL_OK;
  if (!self.spool->owner->run_claim([&] { code = beeline_claim_heartbeat(self.handle); })) {
    return nullptr;
  }
  return code == BEELINE_SPOOL_OK ? Py_NewRef(Py_None) : raise_spool(code);
}

PyObject* keep(SpoolClaim& self, const Call& call) {
  if (!no_arguments(state_of(self), "keep", call) ||
      !self.spool->owner->run_claim([&] { beeline_claim_keep(self.handle); })) {
    return nullptr;
  }
  return Py_NewRef(Py_None);
}

}  // namespace

PyObject* make_spool_claim(Spool& spool, beeline_claim* handle) {
  PyObject* made = State::allocate(spool.owner->state().type(Kind::kSpoolClaim));
  if (made == nullptr) {
    free_handle(*spool.owner, handle);
    return nullptr;
  }
  auto& claim = *reinterpret_cast<SpoolClaim*>(made);
  claim.spool = &spool;
  Py_INCREF(reinterpret_cast<PyObject*>(&spool));
  claim.handle = handle;
  return made;
}

bool add_spool_claim_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<SpoolClaim, take_text<beeline_claim_complete>>("complete", "Ends it with a result."),
      method<SpoolClaim, take_text<beeline_claim_fail>>("fail", "Ends the task for good."),
      method<SpoolClaim, take_text<beeline_claim_write_note>>("write_note", "Keeps a text."),
      method<SpoolClaim, retry>("retry", "Puts it back, or fails it; true: it waits again."),
      method<SpoolClaim, heartbeat>("heartbeat", "Says that the worker lives."),
      method<SpoolClaim, keep>("keep", "Lets go of the claim, which stays."),
      {}};
  static PyGetSetDef getters[] = {
      getter<SpoolClaim, fact<id>>("id", "The id of the task."),
      getter<SpoolClaim, fact<text>>("text", "The task, as JSON."),
      getter<SpoolClaim, fact<note>>("note", "The text that write_note() has kept."),
      getter<SpoolClaim, held>("held", "False once it was ended or kept."),
      {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         {Py_tp_getset, getters},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.SpoolClaim", sizeof(SpoolClaim), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return add_type(state, module, Kind::kSpoolClaim, "SpoolClaim", spec);
}

}  // namespace beeline::python
