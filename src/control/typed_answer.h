#pragma once

// Answers of the coordinator as the types of their requests, for the files of class Client.

#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <beeline/result.h>

#include "src/control/pending_answers.h"
#include "src/control/wire.h"

namespace beeline::control {

// The answer as the type that belongs to the request.
template <typename T>
Result<T> typed(RawAnswer& raw) {
  if (auto* answer = std::get_if<T>(&raw.answer)) return std::move(*answer);
  return fail(ErrorCode::kProtocol, "the coordinator answered with another kind of packet");
}

template <typename T>
Result<T> typed(Result<RawAnswer> raw) {
  if (!raw) return tl::unexpected(std::move(raw.error()));
  return typed<T>(*raw);
}

// Replaces an answer with descriptors that could not be received.
inline tl::unexpected<Error> missing_fds(std::size_t expected, std::size_t found) {
  return fail(
      ErrorCode::kProtocol,
      fmt::format("the coordinator sent {} file descriptors, {} were expected", found, expected));
}

}  // namespace beeline::control
