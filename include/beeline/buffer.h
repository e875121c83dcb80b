#pragma once

// The durable buffer: messages on the disk, sorted into batches. The program `beeline buffer run`
// is an agent that keeps them; these are the calls of its clients.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/agent.h>
#include <beeline/result.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

/// A message for the buffer. Texts are UTF-8; channel, sender, conversation and key have at most
/// 1,024 bytes, the payload at most 16 MiB.
struct BufferEntry {
  std::string channel{};                   ///< not empty
  std::string sender{};                    ///< empty: the name of the agent that puts it
  std::string conversation{};              ///< batches are made by conversation and channel
  std::string payload{};                   ///< usually JSON
  std::optional<std::int32_t> priority{};  ///< lower first; empty: that of the route, else of the
                                           ///< channel, else 100
  std::string key{};  ///< a second put of the channel with this key gets the row of the first
};

struct BufferReceipt {
  std::int64_t id = 0;    ///< of the row; rises and is never used again
  bool repeated = false;  ///< the row was there already
};

/// A message as the buffer keeps it.
struct BufferedMessage {
  std::int64_t id = 0;
  std::string channel{};
  std::string sender{};
  std::string conversation{};
  std::string payload{};
  std::string received_at{};  ///< UTC, "2026-01-31 12:00:00.250"
  std::int32_t priority = 0;
};

/// Messages of one conversation on one channel, by id; at least one.
struct BufferBatch {
  std::int64_t id = 0;
  std::string channel{};
  std::string conversation{};
  bool redelivered = false;  ///< it was handed out before, and not acknowledged
  std::vector<BufferedMessage> messages{};
};

struct BufferDepth {
  std::string channel{};
  std::uint64_t unrouted = 0;
  std::chrono::milliseconds oldest_age{};
};

struct BufferStatus {
  std::uint64_t unrouted = 0;              ///< messages that no batch has yet
  std::chrono::milliseconds oldest_age{};  ///< of an unrouted message; 0: there is none
  std::vector<BufferDepth> channels{};     ///< with unrouted messages, by name
  std::uint64_t waiting_batches = 0;       ///< for the main agent
  std::uint64_t waiting_messages = 0;      ///< in them
  std::uint64_t leased_batches = 0;        ///< handed out and not acknowledged
  std::uint64_t leased_messages = 0;       ///< in them
  std::uint64_t waiting_tasks = 0;
  std::uint64_t open_tasks = 0;  ///< their agents start or run
};

/// A batch for which the buffer has spawned an agent, or will.
struct BufferTask {
  std::int64_t id = 0;
  std::int64_t batch = 0;
  std::string channel{};
  std::string conversation{};
  std::string agent_template{};
  std::string text{};
  std::string status{};  ///< "waiting", "starting", "running", "completed" or "failed"
  Pid pid = 0;           ///< of the agent; 0: none yet
  std::optional<std::int32_t> exit_code{};
  std::string result{};  ///< or the reason of the failure
};

/// The type of the messages that bring batches.
inline constexpr std::string_view kBufferBatch = "buffer.batch";

/// Calls of an agent to a buffer. Belongs to the thread of its Agent and must not outlive it. Cheap
/// to copy.
///
/// Errors of all that wait for an answer: those of Agent::request() (kNoAgent: no buffer runs under
/// this name), kInvalid (a value and its limit), kFull (the disk of the buffer: nothing was kept),
/// kTimeout (no answer in time, or another program held the database for 5 s), kSystem, kProtocol
/// (the buffer has another version, or another program has the name). The text has the words of
/// the buffer. Calls without a deadline wait up to kRequestPatience.
class Buffer {
 public:
  /// `agent` outlives this object. `buffer` is the name of the agent that keeps the messages.
  explicit Buffer(Agent& agent, std::string buffer = "buffer")
      : agent_(&agent), buffer_(std::move(buffer)) {}

  /// Returns once the message is on the disk. The call may be repeated with the same key after any
  /// error.
  [[nodiscard]] Result<BufferReceipt> put(const BufferEntry& entry,
                                          Deadline deadline = after(kRequestPatience));
  /// Sends it and returns; the agent calls `then` as Agent::request_then() does.
  [[nodiscard]] Result<void> put_then(const BufferEntry& entry, Deadline deadline,
                                      std::function<void(Result<BufferReceipt>)> then);

  /// Asks for `count` more batches, 1 to 64; waits only for room in the lane of the buffer, up to
  /// kRequestPatience. Each comes as an ordinary message of the type kBufferBatch as soon as there
  /// is one; Message::done() ends the batch, and Message::reject() ends it as a dead letter. If
  /// this agent dies before that, the batch comes again, flagged as redelivered: to its successor,
  /// or to the next that asks. An agent has at most 64 that it has asked for and not got: the
  /// buffer drops more in silence. An agent of this name that is no buffer gets a message of the
  /// type "buffer.next". Errors: kInvalid (a wrong count), those of a send (kNoAgent, kFull).
  [[nodiscard]] Result<void> next(std::uint32_t count = 1);
  /// Reads a message of the type kBufferBatch. Errors: kInvalid.
  [[nodiscard]] static Result<BufferBatch> read(const Message& message);
  /// Ends a batch by its number, also after a restart of the buffer. Message::done() is enough
  /// while the buffer lives. Returns false if the batch had ended before. Errors beside those of
  /// all: kInvalid (the batch was never handed out, or is so old that it was removed).
  [[nodiscard]] Result<bool> acknowledge(std::int64_t batch);

  [[nodiscard]] Result<BufferStatus> status();
  /// The newest tasks first, at most 1,000. An empty `status` means all.
  [[nodiscard]] Result<std::vector<BufferTask>> tasks(const std::string& status = {});

 private:
  Agent* agent_;
  std::string buffer_;
};

}  // namespace beeline
