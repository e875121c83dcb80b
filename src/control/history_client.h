#pragma once

// A tool's question about the history, over a connection that it holds.

#include <cstdint>
#include <utility>
#include <variant>

#include <beeline/result.h>

#include "src/control/client.h"

namespace beeline::control {

// How much the agents of the hive record. Sets it first unless `level` is -1. Errors beside those
// of every call: kDenied (the user), kInvalid (the level).
[[nodiscard]] inline Result<HistoryAnswer> ask_history(Client& client, std::int32_t level = -1) {
  auto raw = client.request(HistoryRequest{level});
  if (!raw) return tl::unexpected(std::move(raw.error()));
  if (const auto* answer = std::get_if<HistoryAnswer>(&raw->answer)) return *answer;
  return fail(ErrorCode::kProtocol, "the coordinator answered with another kind of packet");
}

}  // namespace beeline::control
