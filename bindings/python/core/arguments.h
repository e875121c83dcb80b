#pragma once
// The arguments of one call of the extension.

#include <array>
#include <cstddef>
#include <span>

#include "bindings/python/core/names.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

class State;

// The arguments as the interpreter gives them: first those by place, then those by name.
struct Call {
  PyObject* const* arguments = nullptr;
  Py_ssize_t places = 0;
  PyObject* names = nullptr;  // a tuple, or null
};

// The arguments that a function has. The first `places` of them may be given by place, too, and
// the first `required` must be given.
template <std::size_t Count>
struct Signature {
  const char* function;
  std::array<Name, Count> names;
  std::size_t places;
  std::size_t required;
};

// A signature of arguments by place, and of options.
template <std::size_t Places, std::size_t Options>
constexpr Signature<Places + Options> signature(const char* function,
                                                const std::array<Name, Places>& places,
                                                std::size_t required,
                                                const std::array<Name, Options>& options) {
  Signature<Places + Options> all{function, {}, Places, required};
  for (std::size_t at = 0; at < Places; ++at) all.names[at] = places[at];
  for (std::size_t at = 0; at < Options; ++at) all.names[Places + at] = options[at];
  return all;
}

// A signature of arguments by place only.
template <std::size_t Places>
constexpr Signature<Places> signature(const char* function, const std::array<Name, Places>& places,
                                      std::size_t required = Places) {
  return {function, places, Places, required};
}

// See Values::read(). False: an exception is set.
[[nodiscard]] bool read_arguments(const State& state, const char* function,
                                  std::span<const Name> names, std::size_t places,
                                  std::size_t required, const Call& call,
                                  std::span<PyObject*> values);

// The values of the arguments of a call, in the order of its signature; null where the caller gave
// none. The caller of the function owns them all.
template <std::size_t Count>
class Values {
 public:
  [[nodiscard]] bool read(const State& state, const Signature<Count>& signature, const Call& call) {
    return read_arguments(state, signature.function, signature.names, signature.places,
                          signature.required, call, values_);
  }
  [[nodiscard]] PyObject* operator[](std::size_t at) const { return values_[at]; }
  // Those from a place on, for example the options.
  [[nodiscard]] std::span<PyObject* const> from(std::size_t at) const {
    return std::span<PyObject* const>(values_).subspan(at);
  }

 private:
  std::array<PyObject*, Count> values_{};
};

// For a function without arguments. False: an exception is set.
[[nodiscard]] inline bool no_arguments(const State& state, const char* function, const Call& call) {
  return (call.places == 0 && call.names == nullptr) ||
         read_arguments(state, function, {}, 0, 0, call, {});
}

}  // namespace beeline::python
