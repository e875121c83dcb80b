#include "bindings/python/core/spool.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "bindings/python/core/payload.h"
#include "bindings/python/core/signals_held.h"
#include "bindings/python/core/spool_claim.h"
#include "bindings/python/core/values.h"

namespace beeline::python {
namespace {

constexpr const char* kDoc = "A task folder.";

constexpr std::array kSpoolOptions = {Name::kDir,
                                      Name::kWorker,
                                      Name::kSync,
                                      Name::kOrder,
                                      Name::kReadOnly,
                                      Name::kShared,
                                      Name::kProcess,
                                      Name::kPollEvery,
                                      Name::kHeartbeatPatience,
                                      Name::kOutboxRetention,
                                      Name::kFailedRetention,
                                      Name::kTempRetention};
constexpr auto kOpen = signature("open_spool", std::array<Name, 0>{}, 0, kSpoolOptions);
constexpr auto kPut = signature("put", std::array{Name::kText});
constexpr auto kClaim = signature("claim", std::array{Name::kTimeoutNs});
constexpr auto kHeld = signature("held", std::array{Name::kId});
constexpr auto kFind = signature("find", std::array{Name::kId});
constexpr auto kList = signature("list", std::array{Name::kFolder});

// The texts in it belong to the arguments. False: an exception is set.
bool read_spool_options(std::span<PyObject* const> given, beeline_spool_options* options) {
  beeline_spool_options_init(options);
  const auto value = [&](std::size_t at) {
    return given[at] != nullptr && Py_IsNone(given[at]) ? nullptr : given[at];
  };
  return read_text(value(0), "dir", &options->dir, nullptr) &&
         read_text(value(1), "worker", &options->worker, nullptr) &&
         read_number(value(2), "sync", &options->sync) &&
         read_number(value(3), "order", &options->order) &&
         read_flag(value(4), &options->read_only) && read_flag(value(5), &options->shared) &&
         read_number(value(6), "process", &options->process, -1) &&
         read_seconds(value(7), "poll_every", &options->poll_every_ns) &&
         read_seconds(value(8), "heartbeat_patience", &options->heartbeat_patience_ns) &&
         read_seconds(value(9), "outbox_retention", &options->outbox_retention_ns) &&
         read_seconds(value(10), "failed_retention", &options->failed_retention_ns) &&
         read_seconds(value(11), "temp_retention", &options->temp_retention_ns);
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (SpoolOwner* owner = reinterpret_cast<Spool*>(self)->owner; owner != nullptr) {
    const Released released;
    delete owner;
  }
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// Calls `work(spool, &text)`, which gives a code and a text.
template <typename Work>
PyObject* text_of_call(Spool& self, const Work& work) {
  beeline_spool_code code = BEELINE_SPOOL_OK;
  std::string copy;
  const bool is_good = self.owner->run([&](beeline_spool* handle) {
    const char* text = nullptr;
    code = work(handle, &text);
    if (text != nullptr) copy = text;
  });
  if (!is_good) return nullptr;
  if (code != BEELINE_SPOOL_OK) return raise_spool(code);
  return PyUnicode_DecodeUTF8(copy.data(), static_cast<Py_ssize_t>(copy.size()), "replace");
}

PyObject* put(Spool& self, const Call& call) {
  Values<1> values;
  Payload task;
  if (!values.read(self.owner->state(), kPut, call) || !task.read(values[0], "a task")) {
    return nullptr;
  }
  return text_of_call(self, [&](beeline_spool* handle, const char** text) {
    return beeline_spool_put(handle, task.text(), task.size(), text);
  });
}

// ---- Claims ----

std::int64_t now_ns() {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// A look that finds nothing arms the descriptor, once there is one. So the first look of a wait is
// made twice.
PyObject* claim(Spool& self, const Call& call) {
  Values<1> values;
  std::int64_t timeout_ns = 0;
  if (!values.read(self.owner->state(), kClaim, call) ||
      !read_number(values[0], "timeout_ns", &timeout_ns)) {
    return nullptr;
  }
  const std::int64_t begin = now_ns();
  for (bool waits = false;; waits = true) {
    beeline_spool_code code = BEELINE_SPOOL_OK;
    beeline_claim* handle = nullptr;
    int descriptor = -1;
    const bool is_good = self.owner->run([&](beeline_spool* spool) {
      if (waits) descriptor = beeline_spool_fd(spool);
      code = beeline_spool_claim(spool, 0, &handle);
    });
    if (!is_good) return nullptr;
    if (code == BEELINE_SPOOL_OK) return make_spool_claim(self, handle);
    if (code != BEELINE_SPOOL_NO_TASKS) return raise_spool(code);
    const std::int64_t left = timeout_ns - (now_ns() - begin);
    if (left <= 0) return Py_NewRef(Py_None);
    if (!waits) continue;
    const SignalsHeld held;
    if (PyErr_CheckSignals() != 0) return nullptr;
    held.sleep(descriptor, std::min(left, self.owner->poll_every_ns()));
  }
}

PyObject* held(Spool& self, const Call& call) {
  Values<1> values;
  const char* id = "";
  std::size_t length = 0;
  if (!values.read(self.owner->state(), kHeld, call) || !read_text(values[0], "id", &id, &length)) {
    return nullptr;
  }
  beeline_spool_code code = BEELINE_SPOOL_OK;
  beeline_claim* handle = nullptr;
  const bool is_good = self.owner->run(
      [&](beeline_spool* spool) { code = beeline_spool_held(spool, id, length, &handle); });
  if (!is_good) return nullptr;
  return code == BEELINE_SPOOL_OK ? make_spool_claim(self, handle) : raise_spool(code);
}

// ---- Texts ----

using GetText = beeline_spool_code (*)(beeline_spool*, const char**);

template <GetText Get>
PyObject* text(Spool& self, const Call& call) {
  return no_arguments(self.owner->state(), "this call", call) ? text_of_call(self, Get) : nullptr;
}

PyObject* list(Spool& self, const Call& call) {
  Values<1> values;
  std::int32_t folder = 0;
  if (!values.read(self.owner->state(), kList, call) ||
      !read_number(values[0], "folder", &folder)) {
    return nullptr;
  }
  return text_of_call(self, [&](beeline_spool* handle, const char** text) {
    return beeline_spool_list(handle, folder, text);
  });
}

PyObject* find(Spool& self, const Call& call) {
  Values<1> values;
  const char* id = "";
  std::size_t length = 0;
  if (!values.read(self.owner->state(), kFind, call) || !read_text(values[0], "id", &id, &length)) {
    return nullptr;
  }
  return text_of_call(self, [&](beeline_spool* handle, const char** text) {
    return beeline_spool_find(handle, id, length, text);
  });
}

PyObject* next_remark(Spool& self, const Call& call) {
  if (!no_arguments(self.owner->state(), "next_remark", call)) return nullptr;
  bool is_there = false;
  std::string copy;
  const bool is_good = self.owner->run([&](beeline_spool* handle) {
    const char* remark = beeline_spool_next_remark(handle);
    is_there = remark != nullptr;
    if (is_there) copy = remark;
  });
  if (!is_good) return nullptr;
  if (!is_there) return Py_NewRef(Py_None);
  return PyUnicode_DecodeUTF8(copy.data(), static_cast<Py_ssize_t>(copy.size()), "replace");
}

PyObject* fileno(Spool& self, const Call& call) {
  if (!no_arguments(self.owner->state(), "fileno", call)) return nullptr;
  int descriptor = -1;
  const bool is_good =
      self.owner->run([&](beeline_spool* handle) { descriptor = beeline_spool_fd(handle); });
  return is_good ? PyLong_FromLong(descriptor) : nullptr;
}

PyObject* close(Spool& self, const Call& call) {
  if (!no_arguments(self.owner->state(), "close", call)) return nullptr;
  self.owner->close();
  return Py_NewRef(Py_None);
}

PyObject* closed(Spool& self) { return PyBool_FromLong(self.owner->is_closed()); }

}  // namespace

PyObject* raise_spool(beeline_spool_code code) {
  const char* words = beeline_error_text();
  const Ref text(
      PyUnicode_DecodeUTF8(words, static_cast<Py_ssize_t>(std::strlen(words)), "replace"));
  const int system = beeline_error_errno();
  const Ref module(PyImport_ImportModule("beeline.spool._errors"));
  if (!text || !module) return nullptr;
  const Ref error(
      PyObject_CallMethod(module.get(), "make", "iiO", static_cast<int>(code), system, text.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* open_spool(State& state, const Call& call) {
  Values<kOpen.names.size()> values;
  beeline_spool_options options;
  if (!values.read(state, kOpen, call) || !read_spool_options(values.from(0), &options)) {
    return nullptr;
  }
  Ref made(State::allocate(state.type(Kind::kSpool)));
  if (!made) return nullptr;
  beeline_spool* handle = nullptr;
  beeline_spool_code code = BEELINE_SPOOL_OK;
  {
    const Released released;
    code = beeline_spool_open(&options, &handle);
  }
  if (code != BEELINE_SPOOL_OK) return raise_spool(code);
  reinterpret_cast<Spool*>(made.get())->owner =
      new SpoolOwner(state, handle, options.poll_every_ns);
  return made.release();
}

bool add_spool_type(State& state, PyObject* module) {
  static PyMethodDef methods[] = {
      method<Spool, put>("put", "Writes a task and returns its id."),
      method<Spool, claim>("claim", "The next task, or None when the time is over."),
      method<Spool, held>("held", "The claim of this worker on a task."),
      method<Spool, text<beeline_spool_take_over>>("take_over", "Ids of the claims taken over."),
      method<Spool, text<beeline_spool_describe>>("describe", "The options in effect."),
      method<Spool, text<beeline_spool_sweep>>("sweep", "Takes back claims, removes old files."),
      method<Spool, list>("list", "The files of a folder."),
      method<Spool, find>("find", "The task of an id where it is now."),
      method<Spool, next_remark>("next_remark", "The next remark, or None."),
      method<Spool, fileno>("fileno", "Readable when a task may have come; or -1."),
      method<Spool, close>("close", "Puts back the claims that are held."),
      {}};
  static PyGetSetDef getters[] = {getter<Spool, closed>("closed", "True after close()."), {}};
  PyType_Slot slots[] = {slot(Py_tp_dealloc, &deallocate),
                         {Py_tp_getset, getters},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec{"beeline._core.Spool", sizeof(Spool), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return add_type(state, module, Kind::kSpool, "Spool", spec);
}

}  // namespace beeline::python
