// The calls of a client of the durable buffer: each is a request to the agent that keeps it.

#include <beeline/buffer.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/agent/buffer_json.h"
#include "src/agent/status.h"

namespace beeline {

namespace {

constexpr std::uint32_t kMostBatches = 64;

// A put inherits from the message in hand, so that a trace leads to the buffer.
SendOptions put_options() {
  SendOptions options;
  options.type = kPutRequest;
  options.cancel_on_timeout =
      true;  // so that it is not kept for somebody who was told of a failure
  return options;
}

// The other calls have nothing to do with the message in hand: its hops would add up from batch to
// batch.
SendOptions call_options(std::string_view type) {
  SendOptions options;
  options.type = type;
  options.inherit = false;
  return options;
}

// The payload belongs to the buffer, which may be of another user, so it is copied before it is
// read.
std::string copy_of(const Message& message) { return std::string(message.text()); }

Result<std::string> ask_buffer(Agent& agent, const std::string& buffer, std::string_view type,
                               const std::string& request) {
  const auto answer = agent.request(buffer, request, call_options(type));
  if (!answer) return tl::unexpected(answer.error());
  return copy_of(*answer);
}

}  // namespace

Result<BufferReceipt> Buffer::put(const BufferEntry& entry, Deadline deadline) {
  const auto request = put_request(entry);
  if (!request) return tl::unexpected(request.error());
  const auto answer = agent_->request(buffer_, *request, deadline, put_options());
  if (!answer) return tl::unexpected(answer.error());
  return read_receipt(copy_of(*answer));
}

Result<void> Buffer::put_then(const BufferEntry& entry, Deadline deadline,
                              std::function<void(Result<BufferReceipt>)> then) {
  const auto request = put_request(entry);
  if (!request) return tl::unexpected(request.error());
  const auto sent = agent_->request_then(
      buffer_, *request, deadline,
      [then = std::move(then)](Result<Message> answer) {
        if (!answer) return then(tl::unexpected(std::move(answer.error())));
        then(read_receipt(copy_of(*answer)));
      },
      put_options());
  if (!sent) return tl::unexpected(sent.error());
  return {};
}

Result<void> Buffer::next(std::uint32_t count) {
  if (count == 0 || count > kMostBatches) {
    return fail(ErrorCode::kInvalid, fmt::format("next: {} batches were asked for; ask for 1 to {}",
                                                 count, kMostBatches));
  }
  const SendResult sent = agent_->send_until(buffer_, next_request(count), after(kRequestPatience),
                                             call_options(kNextRequest));
  if (!sent) return fail(error_of(sent.status), sent.text());
  return {};
}

Result<BufferBatch> Buffer::read(const Message& message) {
  if (!message.valid()) {
    return fail(ErrorCode::kInvalid, "read: the message has ended; read it before its end");
  }
  if (message.type() != kBufferBatch) {
    return fail(ErrorCode::kInvalid,
                fmt::format("read: message {} has the type \"{}\"; a batch has \"{}\"",
                            id_text(message.id()), message.type(), kBufferBatch));
  }
  auto batch = read_batch(copy_of(message));
  if (!batch) {
    return fail(batch.error().code,
                fmt::format("read: message {}: {}", id_text(message.id()), batch.error().text));
  }
  // A predecessor of this agent had it, or this agent has put it back.
  batch->redelivered = batch->redelivered || message.redelivered();
  return batch;
}

Result<bool> Buffer::acknowledge(std::int64_t batch) {
  const auto answer = ask_buffer(*agent_, buffer_, kAcknowledgeRequest, acknowledge_request(batch));
  if (!answer) return tl::unexpected(answer.error());
  return read_acknowledged(*answer);
}

Result<BufferStatus> Buffer::status() {
  const auto answer = ask_buffer(*agent_, buffer_, kStatusRequest, "{}");
  if (!answer) return tl::unexpected(answer.error());
  return read_status(*answer);
}

Result<std::vector<BufferTask>> Buffer::tasks(const std::string& status) {
  const auto request = tasks_request(status);
  if (!request) return tl::unexpected(request.error());
  const auto answer = ask_buffer(*agent_, buffer_, kTasksRequest, *request);
  if (!answer) return tl::unexpected(answer.error());
  return read_tasks(*answer);
}

}  // namespace beeline
