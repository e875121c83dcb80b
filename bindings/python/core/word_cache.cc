#include "bindings/python/core/word_cache.h"

namespace beeline::python {
namespace {

// Words differ mostly in their length and at their ends.
std::size_t place_of(std::string_view word) {
  const auto first = static_cast<unsigned char>(word.front());
  const auto last = static_cast<unsigned char>(word.back());
  return word.size() * 7 + first * 31U + last;
}

PyObject* decode(std::string_view word) {
  return PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "replace");
}

}  // namespace

PyObject* WordCache::str(std::string_view word) {
  if (word.empty()) return PyUnicode_FromStringAndSize("", 0);
  Place& place = places_[place_of(word) % kPlaces];
  if (place.word != word) {
    Ref made(decode(word));
    if (!made) return nullptr;
    place.word = word;
    place.str = std::move(made);
  }
  return Ref::to(place.str.get()).release();
}

}  // namespace beeline::python
