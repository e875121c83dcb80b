#include "bindings/python/core/arguments.h"

#include <string>

#include "bindings/python/core/state.h"

namespace beeline::python {
namespace {

constexpr std::size_t kNowhere = SIZE_MAX;

std::size_t find_name(const State& state, std::span<const Name> names, PyObject* given) {
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (state.name(names[at]) == given) return at;
  }
  // A name that the program has made at run time need not be interned.
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (PyUnicode_CompareWithASCIIString(given, text_of(names[at])) == 0) return at;
  }
  return kNowhere;
}

void refuse_name(const char* function, std::span<const Name> names, PyObject* given) {
  std::string known;
  for (const Name name : names) {
    if (!known.empty()) known += ", ";
    known += text_of(name);
  }
  PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'; it has: %s", function, given,
               known.empty() ? "none" : known.c_str());
}

}  // namespace

bool read_arguments(const State& state, const char* function, std::span<const Name> names,
                    std::size_t places, std::size_t required, const Call& call,
                    std::span<PyObject*> values) {
  const auto given = static_cast<std::size_t>(call.places);
  if (given > places) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments by place, not %zu", function,
                 places, given);
    return false;
  }
  for (std::size_t at = 0; at < given; ++at) values[at] = call.arguments[at];
  const Py_ssize_t named = call.names == nullptr ? 0 : PyTuple_Size(call.names);
  for (Py_ssize_t at = 0; at < named; ++at) {
    PyObject* name = PyTuple_GetItem(call.names, at);
    const std::size_t place = find_name(state, names, name);
    if (place == kNowhere) {
      refuse_name(function, names, name);
      return false;
    }
    if (values[place] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got '%U' twice", function, name);
      return false;
    }
    values[place] = call.arguments[given + static_cast<std::size_t>(at)];
  }
  for (std::size_t at = 0; at < required; ++at) {
    if (values[at] != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "%s() needs '%s'", function, text_of(names[at]));
    return false;
  }
  return true;
}

}  // namespace beeline::python
