// The module `beeline._core`.

#include <beeline/c.h>

#include <new>

#include "bindings/python/core/agent.h"
#include "bindings/python/core/agent_info.h"
#include "bindings/python/core/attaching.h"
#include "bindings/python/core/listing.h"
#include "bindings/python/core/loan.h"
#include "bindings/python/core/message.h"
#include "bindings/python/core/method.h"
#include "bindings/python/core/peer.h"
#include "bindings/python/core/readiness.h"
#include "bindings/python/core/released.h"
#include "bindings/python/core/task_run.h"
#include "bindings/python/core/values.h"
#ifdef BEELINE_HAS_SPOOL
#include "bindings/python/core/spool.h"
#include "bindings/python/core/spool_claim.h"
#include "bindings/python/core/spool_watch.h"
#endif

namespace beeline::python {
namespace {

using Function = PyObject* (*)(State&, const Call&);

template <Function Call_>
PyObject* call_function(PyObject* module, PyObject* const* arguments, Py_ssize_t places,
                        PyObject* names) {
  return guarded([&] { return Call_(State::of(module), Call{arguments, places, names}); });
}

template <Function Call_>
PyMethodDef function(const char* name, const char* doc) {
  const auto erased = reinterpret_cast<void (*)()>(&call_function<Call_>);
  return {name, reinterpret_cast<PyCFunction>(erased), METH_FASTCALL | METH_KEYWORDS, doc};
}

PyObject* look_into_inbox(State& state, const Call& call) {
  constexpr auto kLook = signature(
      "look_into_inbox", std::array{Name::kName, Name::kHive, Name::kControlTimeoutNs}, 1);
  constexpr std::int64_t kDefaultNs = 10'000'000'000;
  Values<3> values;
  const char* name = "";
  std::size_t length = 0;
  const char* hive = nullptr;
  std::int64_t timeout_ns = kDefaultNs;
  if (!values.read(state, kLook, call) || !read_text(values[0], "name", &name, &length) ||
      !read_text(values[1], "hive", &hive, nullptr) ||
      !read_number(values[2], "control_timeout_ns", &timeout_ns)) {
    return nullptr;
  }
  beeline_inbox* inbox = nullptr;
  beeline_code code = BEELINE_OK;
  {
    const Released released;
    code = beeline_look_into_inbox(hive, name, length, timeout_ns, &inbox);
  }
  if (code != BEELINE_OK) return raise(state, code);
  const Listing<beeline_inbox, beeline_inbox_free> owned(inbox);
  const Ref items(inbox_dicts(state, *owned));
  if (!items) return nullptr;
  return Py_BuildValue("{sIsssnsnsO}", "pid", (*owned).pid, "name", (*owned).name, "length",
                       static_cast<Py_ssize_t>((*owned).length), "damaged_links",
                       static_cast<Py_ssize_t>((*owned).damaged_links), "items", items.get());
}

PyObject* id_text(State& state, const Call& call) {
  Values<1> values;
  beeline_id id = 0;
  if (!values.read(state, signature("id_text", std::array{Name::kId}), call) ||
      !read_id(values[0], "id", &id)) {
    return nullptr;
  }
  char text[BEELINE_ID_TEXT_SIZE];
  const std::size_t length = beeline_id_text(id, text);
  return PyUnicode_FromStringAndSize(text, static_cast<Py_ssize_t>(length));
}

PyObject* parse_id(State& state, const Call& call) {
  Values<1> values;
  const char* text = "";
  std::size_t length = 0;
  if (!values.read(state, signature("parse_id", std::array{Name::kText}), call) ||
      !read_text(values[0], "text", &text, &length)) {
    return nullptr;
  }
  return PyLong_FromUnsignedLongLong(beeline_parse_id(text, length));
}

PyObject* end(State& state, const Call& /*call*/) {
  state.end();
  return Py_NewRef(Py_None);
}

#ifdef BEELINE_HAS_SPOOL
bool add_spool_types(State& state, PyObject* module) {
  return add_spool_type(state, module) && add_spool_claim_type(state, module) &&
         add_spool_watch_type(state, module);
}
#else
bool add_spool_types(State& /*state*/, PyObject* /*module*/) { return true; }
#endif

// The interpreter tells the module before it takes its objects apart.
bool register_end(PyObject* module) {
  const Ref function(PyObject_GetAttrString(module, "_end"));
  const Ref atexit(PyImport_ImportModule("atexit"));
  if (!function || !atexit) return false;
  const Ref done(PyObject_CallMethod(atexit.get(), "register", "O", function.get()));
  return static_cast<bool>(done);
}

int execute(PyObject* module) {
  State& state = *new (PyModule_GetState(module)) State;
  count_forks();
  const bool is_good =
      state.intern_names() && add_peer_type(state, module) && add_readiness_type(state, module) &&
      add_message_type(state, module) && add_loan_type(state, module) &&
      add_task_run_type(state, module) && add_agent_type(state, module) &&
      add_attaching_type(state, module) && add_spool_types(state, module) &&
      PyModule_AddStringConstant(module, "version", beeline_version()) == 0 && register_end(module);
  return is_good ? 0 : -1;
}

// A module that was never executed has a state of zeros, which is an empty State.
int traverse(PyObject* module, visitproc visit, void* arg) {
  return State::of(module).traverse(visit, arg);
}

int clear(PyObject* module) {
  State::of(module).clear();
  return 0;
}

void free_state(void* module) { State::of(static_cast<PyObject*>(module)).~State(); }

PyModuleDef* definition() {
  static PyMethodDef methods[] = {
      function<attach>("attach", "Attaches, without the GIL."),
      function<look_into_inbox>("look_into_inbox", "Lists the inbox of another agent."),
#ifdef BEELINE_HAS_SPOOL
      function<open_spool>("open_spool", "Opens a task folder, without the GIL."),
      function<open_spool_watch>("open_spool_watch", "Watches a task folder."),
#endif
      function<id_text>("id_text", "An id as people read it."),
      function<parse_id>("parse_id", "The id that id_text() wrote; 0: it cannot have."),
      function<end>("_end", "The interpreter ends."),
      {}};
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&execute)},
                                     {0, nullptr}};
  static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                               "beeline._core",
                               "Beeline over its C interface.",
                               sizeof(State),
                               methods,
                               slots,
                               &traverse,
                               &clear,
                               &free_state};
  return &module;
}

}  // namespace
}  // namespace beeline::python

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(beeline::python::definition()); }
