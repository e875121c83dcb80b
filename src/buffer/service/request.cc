#include "src/buffer/service/request.h"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/buffer/times.h"
#include "src/service/json_fields.h"
#include "src/service/json_request.h"

namespace beeline::buffer {
namespace {

using service::JsonFields;

constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostListed = 10'000;
constexpr std::int64_t kMostPruneDays = 36'500;
constexpr std::int64_t kMostTakeMs =
    std::chrono::milliseconds(std::chrono::hours(24 * 365)).count();
// Requests other than puts are small.
constexpr std::size_t kMostRequestBytes = 256 << 10;

// `words` are separated by commas.
bool is_one_of(std::string_view words, std::string_view word) {
  for (;;) {
    const std::size_t end = words.find(", ");
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 2);
  }
}

template <typename Value>
Result<BufferRequest> checked(JsonFields& fields, Value value) {
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done.error()));
  return BufferRequest(std::move(value));
}

Result<BufferRequest> read_put(JsonFields fields) {
  PutRequest request;
  Put& put = request.put;
  fields.require("channel");
  fields.require("payload");
  fields.read("channel", put.channel);
  fields.read("sender", put.sender);
  fields.read("conversation", put.conversation);
  fields.read_any_text("payload", put.payload);
  fields.read("key", put.key);
  std::int64_t priority = 0;
  using Limits = std::numeric_limits<std::int32_t>;
  if (fields.read("priority", priority, Limits::min(), Limits::max())) {
    put.priority = static_cast<std::int32_t>(priority);
  }
  return checked(fields, std::move(request));
}

Result<BufferRequest> read_next(JsonFields fields) {
  std::int64_t count = 1;
  fields.read("count", count, 1, kMostCredits);
  return checked(fields, NextRequest{static_cast<std::uint32_t>(count)});
}

Result<BufferRequest> read_take(JsonFields fields) {
  std::int64_t timeout_ms = 0;
  fields.read("timeout_ms", timeout_ms, 0, kMostTakeMs);
  return checked(fields, TakeRequest{std::chrono::milliseconds(timeout_ms)});
}

// A request about one row.
template <typename Value>
Result<BufferRequest> read_of_row(JsonFields fields, const char* key) {
  std::int64_t id = 0;
  fields.require(key);
  fields.read(key, id, 1, kMostId);
  return checked(fields, Value{id});
}

void check_status(JsonFields& fields, const ListRequest& request) {
  const std::string_view words =
      request.what == "tasks" ? "waiting, starting, running, completed, failed" : "waiting, leased";
  if (request.what == "messages") {
    fields.refuse("\"status\" is for batches and tasks; the messages that are listed are unrouted");
  } else if (!is_one_of(words, request.status)) {
    fields.refuse(fmt::format("\"status\" of {} must be one of {}, it is \"{}\"", request.what,
                              words, request.status.substr(0, 40)));
  }
}

Result<BufferRequest> read_list(JsonFields fields) {
  ListRequest request;
  fields.require("what");
  fields.read("what", request.what);
  const bool is_known =
      request.what == "messages" || request.what == "batches" || request.what == "tasks";
  if (!is_known) {
    fields.refuse(fmt::format("\"what\" must be messages, batches or tasks, it is \"{}\"",
                              request.what.substr(0, 40)));
  }
  if (fields.read("status", request.status)) check_status(fields, request);
  std::int64_t most = request.most;
  fields.read("most", most, 1, kMostListed);
  request.most = static_cast<std::uint32_t>(most);
  return checked(fields, std::move(request));
}

Result<BufferRequest> read_show(JsonFields fields) {
  ShowRequest request;
  int count = 0;
  for (const char* const what : {"message", "batch", "task"}) {
    if (fields.find(what) == nullptr) continue;
    ++count;
    request.what = what;
    fields.read(what, request.id, 1, kMostId);
  }
  if (count != 1) fields.refuse("give one of \"message\", \"batch\" and \"task\", with its number");
  return checked(fields, std::move(request));
}

Result<BufferRequest> read_prune(JsonFields fields) {
  PruneRequest request;
  std::int64_t days = 0;
  if (fields.read("days", days, 0, kMostPruneDays)) {
    request.days = static_cast<std::uint32_t>(days);
  }
  return checked(fields, request);
}

Result<BufferRequest> read_job(JsonFields fields) {
  JobRequest request;
  std::string at;
  fields.require("at");
  fields.require("text");
  fields.read("text", request.job.text);
  fields.read("template", request.job.agent_template);
  if (fields.read("at", at)) {
    const auto due = parse_time(at);
    if (due) {
      request.job.due_unix_ms = *due;
    } else {
      fields.refuse(fmt::format("\"at\" must be a time like 2026-01-31T12:00:00Z, it is \"{}\"",
                                at.substr(0, 40)));
    }
  }
  return checked(fields, std::move(request));
}

Result<BufferRequest> read_status(JsonFields fields) { return checked(fields, StatusRequest{}); }
Result<BufferRequest> read_ack(JsonFields fields) {
  return read_of_row<AckRequest>(std::move(fields), "batch");
}
Result<BufferRequest> read_give_back(JsonFields fields) {
  return read_of_row<GiveBackRequest>(std::move(fields), "batch");
}
Result<BufferRequest> read_cancel_job(JsonFields fields) {
  return read_of_row<CancelJobRequest>(std::move(fields), "id");
}

struct Kind {
  std::string_view type;
  Result<BufferRequest> (*read)(JsonFields fields);
};
constexpr std::array<Kind, 11> kKinds{{{"buffer.put", read_put},
                                       {"buffer.next", read_next},
                                       {"buffer.take", read_take},
                                       {"buffer.ack", read_ack},
                                       {"buffer.give_back", read_give_back},
                                       {"buffer.status", read_status},
                                       {"buffer.list", read_list},
                                       {"buffer.show", read_show},
                                       {"buffer.prune", read_prune},
                                       {"buffer.job", read_job},
                                       {"buffer.cancel_job", read_cancel_job}}};

}  // namespace

Result<BufferRequest> parse_request(std::string_view type, std::string_view payload) {
  for (const Kind& kind : kKinds) {
    if (kind.type != type) continue;
    const bool is_large = type == "buffer.put" || type == "buffer.job";
    if (!is_large && payload.size() > kMostRequestBytes) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: the request has {} bytes, at most {}", type,
                                                   payload.size(), kMostRequestBytes));
    }
    const auto json = service::parse_json_request(type, payload);
    if (!json) return tl::unexpected(json.error());
    return kind.read(JsonFields(std::string(type), *json));
  }
  std::string known;
  for (const Kind& kind : kKinds)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.type);
  return fail(
      ErrorCode::kInvalid,
      fmt::format("the buffer does not know requests of type \"{}\"; it knows {}", type, known));
}

}  // namespace beeline::buffer
