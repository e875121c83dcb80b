#pragma once

// Requests to the buffer: JSON in, values out.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <beeline/result.h>

#include "src/buffer/job.h"
#include "src/buffer/message.h"

namespace beeline::buffer {

// All types of requests begin so. Any other message is put as it is.
inline constexpr std::string_view kRequestPrefix = "buffer.";
// So many batches an agent may have asked for.
inline constexpr std::uint32_t kMostCredits = 64;

struct PutRequest {
  Put put{};
};
struct NextRequest {
  std::uint32_t count = 1;
};
struct TakeRequest {
  std::chrono::milliseconds timeout{0};
};
struct AckRequest {
  BatchId batch = 0;
};
struct GiveBackRequest {
  BatchId batch = 0;
};
struct StatusRequest {};
struct ListRequest {
  std::string what{};    // messages, batches, tasks
  std::string status{};  // of batches or tasks; empty: any
  std::uint32_t most = 1000;
};
struct ShowRequest {
  std::string what{};  // message, batch, task
  std::int64_t id = 0;
};
struct PruneRequest {
  std::optional<std::uint32_t> days{};
};
struct JobRequest {
  Job job{};
};
struct CancelJobRequest {
  JobId job = 0;
};
using BufferRequest =
    std::variant<PutRequest, NextRequest, TakeRequest, AckRequest, GiveBackRequest, StatusRequest,
                 ListRequest, ShowRequest, PruneRequest, JobRequest, CancelJobRequest>;

// Reads a request of a type that begins with kRequestPrefix. Errors: kInvalid, with the key, its
// limits and its value.
[[nodiscard]] Result<BufferRequest> parse_request(std::string_view type, std::string_view payload);

}  // namespace beeline::buffer
