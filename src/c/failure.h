#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <beeline/c/types.h>
#include <beeline/result.h>
#include <beeline/types.h>

#include "src/c/codes.h"

namespace beeline::c {

// The last call of a thread that failed. A failed send costs no more than to store its result: the
// words are made when they are read.
class Failure {
 public:
  // That of the calling thread.
  [[nodiscard]] static Failure& last();

  // Each of these returns the code that the call returns.
  beeline_code set(const SendResult& sent);
  beeline_code set(Error error);
  // An argument that is missing. Both words are static.
  beeline_code set_missing(const char* function, const char* argument);
  // Static words, because there may be no memory for others.
  beeline_code set_static(beeline_code code, const char* function, const char* words);

  [[nodiscard]] const char* text();
  [[nodiscard]] int sys_errno() const;
  [[nodiscard]] std::uint64_t limit() const;

 private:
  enum class Kind : std::uint8_t { kNone, kSend, kError, kMissing, kStatic };
  [[nodiscard]] std::string words() const;

  Kind kind_ = Kind::kNone;
  SendResult sent_{};
  Error error_{};
  const char* function_ = "";
  const char* words_ = "";
  std::string text_{};
};

inline beeline_code failed(const SendResult& sent) { return Failure::last().set(sent); }
inline beeline_code failed(Error error) { return Failure::last().set(std::move(error)); }
// The words follow each other; they are copied.
beeline_code invalid(const char* function, std::initializer_list<std::string_view> words);
// A handle whose agent was closed, or that has ended in another way.
inline beeline_code ended(const char* function, const char* words) {
  return Failure::last().set_static(BEELINE_CLOSED, function, words);
}
inline beeline_code missing(const char* function, const char* argument) {
  return Failure::last().set_missing(function, argument);
}
// For the end of a call: a result without a value.
template <typename T>
beeline_code outcome_of(Result<T>&& result) {
  return result ? BEELINE_OK : failed(std::move(result.error()));
}
inline beeline_code outcome_of(const SendResult& sent, beeline_id* id) {
  if (!sent) [[unlikely]]
    return failed(sent);
  if (id != nullptr) *id = sent.id;
  return BEELINE_OK;
}

// The failure that the exception in flight is.
beeline_code caught(const char* function);

// No exception leaves the library. A cancelled thread is no exception of this kind.
template <typename Call>
beeline_code guarded(const char* function, const Call& call) {
  try {
    return call();
  } catch (const std::exception&) {
    return caught(function);
  }
}
// The same for calls that return something else.
template <typename Value, typename Call>
Value guarded_or(const char* function, Value otherwise, const Call& call) {
  try {
    return call();
  } catch (const std::exception&) {
    (void)caught(function);
    return otherwise;
  }
}

}  // namespace beeline::c
