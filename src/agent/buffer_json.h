#pragma once
// The requests that go to a durable buffer, and its answers, as JSON.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/buffer.h>
#include <beeline/result.h>

namespace beeline {

// The types of the requests.
inline constexpr std::string_view kPutRequest = "buffer.put";
inline constexpr std::string_view kNextRequest = "buffer.next";
inline constexpr std::string_view kAcknowledgeRequest = "buffer.ack";
inline constexpr std::string_view kStatusRequest = "buffer.status";
inline constexpr std::string_view kTasksRequest = "buffer.list";

// Errors of the requests: kInvalid (a text is no UTF-8).
[[nodiscard]] Result<std::string> put_request(const BufferEntry& entry);
[[nodiscard]] std::string next_request(std::uint32_t count);
[[nodiscard]] std::string acknowledge_request(std::int64_t batch);
[[nodiscard]] Result<std::string> tasks_request(const std::string& status);

// Errors of the answers: the one that the buffer answered; kProtocol (the answer has no such form).
[[nodiscard]] Result<BufferReceipt> read_receipt(std::string_view answer);
[[nodiscard]] Result<bool> read_acknowledged(std::string_view answer);
[[nodiscard]] Result<BufferStatus> read_status(std::string_view answer);
[[nodiscard]] Result<std::vector<BufferTask>> read_tasks(std::string_view answer);
// The payload of a message. Errors: kInvalid (no batch).
[[nodiscard]] Result<BufferBatch> read_batch(std::string_view payload);

}  // namespace beeline
