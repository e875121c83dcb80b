#pragma once
// Texts that come again and again.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "bindings/python/core/python.h"
#include "bindings/python/core/ref.h"

namespace beeline::python {

// The str objects of the types, channels and names that an agent has seen of late. Two messages
// with the same type share one str.
class WordCache {
 public:
  // A new reference. Null: an exception is set.
  [[nodiscard]] PyObject* str(std::string_view word);

 private:
  static constexpr std::size_t kPlaces = 64;

  struct Place {
    std::string word;
    Ref str;
  };
  std::array<Place, kPlaces> places_;
};

}  // namespace beeline::python
