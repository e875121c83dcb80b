#pragma once
// The state of the module: its types, its names, the classes of the Python layer.

#include <array>
#include <cstdint>

#include "bindings/python/core/names.h"
#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"

namespace beeline::python {

// The types of the extension.
enum class Kind : std::uint8_t {
  kAgent,
  kAttaching,
  kMessage,
  kLoan,
  kTaskRun,
  kPeer,
  kReadiness,
  kSpool,
  kSpoolClaim,
  kSpoolWatch,
  kCount
};

// One for each interpreter that has imported the module. Objects keep it alive through their
// types.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The state of a module object.
  static State& of(PyObject* module);
  // Interns the names. False: an exception is set.
  [[nodiscard]] bool intern_names();

  [[nodiscard]] PyObject* name(Name name) const {
    return names_[static_cast<std::size_t>(name)].get();
  }
  // Null once the interpreter is being torn down.
  [[nodiscard]] PyTypeObject* type(Kind kind) const {
    return reinterpret_cast<PyTypeObject*>(types_[static_cast<std::size_t>(kind)].get());
  }
  void set_type(Kind kind, Ref type) { types_[static_cast<std::size_t>(kind)] = std::move(type); }
  // True for an object of this type or of a type derived from it.
  [[nodiscard]] bool is(PyObject* object, Kind kind) const;
  // A new object of a type, all zero behind its head. Null: an exception is set.
  [[nodiscard]] static PyObject* allocate(PyTypeObject* type);

  // The members of `beeline._errors` and `beeline._types`, which import this module. They are
  // looked up on first use. Null: an exception is set. The state owns the result.
  [[nodiscard]] PyObject* error_maker();
  [[nodiscard]] PyObject* wrong_thread();
  [[nodiscard]] PyObject* forked_error();
  // A MessageId. Null: an exception is set.
  [[nodiscard]] PyObject* message_id(std::uint64_t id);

  // Makes it the message that this context handles. False: an exception is set.
  [[nodiscard]] bool make_current(PyObject* message);

  // The interpreter ends: from now on deallocation does nothing to the hive, because the kernel
  // takes everything back in a moment.
  void end() { is_ending_ = true; }
  [[nodiscard]] bool is_ending() const { return is_ending_; }

  int traverse(visitproc visit, void* arg);
  void clear();

 private:
  [[nodiscard]] static PyObject* look_up(Ref& into, const char* module, const char* member);

  std::array<Ref, kNames> names_;
  std::array<Ref, static_cast<std::size_t>(Kind::kCount)> types_;
  Ref error_maker_;
  Ref wrong_thread_;
  Ref forked_error_;
  Ref message_id_;
  Ref set_handling_;
  bool is_ending_ = false;
};

// Makes a type and adds it to the module. False: an exception is set.
[[nodiscard]] bool add_type(State& state, PyObject* module, Kind kind, const char* name,
                            PyType_Spec& spec);

// How often this process is a copy made by fork(): see Attachment.
[[nodiscard]] unsigned fork_count();
// Counts forks from now on. May be called again.
void count_forks();

}  // namespace beeline::python
