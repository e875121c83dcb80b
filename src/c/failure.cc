#include "src/c/failure.h"

namespace beeline::c {

Failure& Failure::last() {
  static thread_local Failure failure;
  return failure;
}

beeline_code Failure::set(const SendResult& sent) {
  kind_ = Kind::kSend;
  sent_ = sent;
  return code_of(sent.status);
}

beeline_code Failure::set(Error error) {
  kind_ = Kind::kError;
  error_ = std::move(error);
  return code_of(error_.code);
}

beeline_code Failure::set_missing(const char* function, const char* argument) {
  kind_ = Kind::kMissing;
  function_ = function;
  words_ = argument;
  return BEELINE_INVALID;
}

beeline_code Failure::set_static(beeline_code code, const char* function, const char* words) {
  kind_ = Kind::kStatic;
  function_ = function;
  words_ = words;
  return code;
}

std::string Failure::words() const {
  switch (kind_) {
    case Kind::kNone:
      return {};
    case Kind::kSend:
      return sent_.text();
    case Kind::kError:
      return error_.text;
    case Kind::kMissing:
      return std::string(function_).append(": `").append(words_).append("` is null: give one");
    case Kind::kStatic:
      return std::string(function_).append(": ").append(words_);
  }
  return {};
}

const char* Failure::text() {
  try {
    text_ = words();
  } catch (const std::bad_alloc&) {
    return "no memory for the words of the error";
  }
  return text_.c_str();
}

int Failure::sys_errno() const { return kind_ == Kind::kError ? error_.sys_errno : 0; }

std::uint64_t Failure::limit() const { return kind_ == Kind::kSend ? sent_.limit : 0; }

beeline_code invalid(const char* function, std::initializer_list<std::string_view> words) {
  std::string text(function);
  text += ": ";
  for (const std::string_view each : words) text += each;
  return failed(Error{ErrorCode::kInvalid, 0, std::move(text)});
}

beeline_code caught(const char* function) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Failure::last().set_static(BEELINE_NO_MEMORY, function,
                                      "the system gave no memory: free some and try again");
  } catch (const std::exception&) {
    return Failure::last().set_static(BEELINE_SYSTEM, function,
                                      "the C++ library of the system failed");
  }
}

}  // namespace beeline::c

const char* beeline_error_text() { return beeline::c::Failure::last().text(); }
int beeline_error_errno() { return beeline::c::Failure::last().sys_errno(); }
uint64_t beeline_error_limit() { return beeline::c::Failure::last().limit(); }
