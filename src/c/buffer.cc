// The durable buffer.

#include <beeline/c/buffer.h>

#include <string>
#include <utility>
#include <vector>

#include <beeline/buffer.h>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/list.h"
#include "src/c/message_handle.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

constexpr std::size_t kFirstBufferEntry = 64;
static_assert(kFirstBufferEntry <= sizeof(beeline_buffer_entry));

std::string text_or(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

beeline::Buffer buffer_of(beeline_agent& agent, const char* name) {
  return beeline::Buffer(agent.agent, text_or(name, "buffer"));
}

beeline_code read_entry(const char* function, const beeline_buffer_entry* given,
                        beeline::BufferEntry& entry) {
  beeline_buffer_entry known;
  const beeline_code read =
      read_sized(function, "entry", given, kFirstBufferEntry, beeline_buffer_entry_init, known);
  if (read != BEELINE_OK) return read;
  if (known.payload == nullptr && known.payload_length != 0 &&
      known.payload_length != BEELINE_TEXT) {
    return missing(function, "entry->payload");
  }
  entry.channel = text_or(known.channel, "");
  entry.sender = text_or(known.sender, "");
  entry.conversation = text_or(known.conversation, "");
  entry.payload = text_of(known.payload, known.payload_length);
  entry.key = text_or(known.key, "");
  if (known.sets_priority) entry.priority = known.priority;
  return BEELINE_OK;
}

beeline_buffered_message message_view(const beeline::BufferedMessage& message) {
  beeline_buffered_message view{};
  view.id = message.id;
  view.channel = message.channel.c_str();
  view.sender = message.sender.c_str();
  view.conversation = message.conversation.c_str();
  view.payload = message.payload.c_str();
  view.payload_length = message.payload.size();
  view.received_at = message.received_at.c_str();
  view.priority = message.priority;
  return view;
}

beeline_buffer_depth depth_view(const beeline::BufferDepth& depth) {
  return {depth.channel.c_str(), depth.unrouted, depth.oldest_age.count()};
}

beeline_buffer_task buffer_task_view(const beeline::BufferTask& task) {
  beeline_buffer_task view{};
  view.id = task.id;
  view.batch = task.batch;
  view.channel = task.channel.c_str();
  view.conversation = task.conversation.c_str();
  view.agent_template = task.agent_template.c_str();
  view.text = task.text.c_str();
  view.status = task.status.c_str();
  view.pid = task.pid;
  view.has_exit_code = task.exit_code.has_value();
  view.exit_code = task.exit_code.value_or(0);
  view.result = task.result.c_str();
  return view;
}

using DepthList = List<beeline_buffer_status, beeline::BufferDepth>;
using TaskList = List<beeline_buffer_tasks, beeline::BufferTask>;

// A batch as the caller sees it, with its texts.
class OwnedBatch : public List<beeline_buffer_batch, beeline::BufferedMessage> {
 public:
  explicit OwnedBatch(beeline::BufferBatch batch)
      : List(std::move(batch.messages), message_view),
        channel_(std::move(batch.channel)),
        conversation_(std::move(batch.conversation)) {
    id = batch.id;
    redelivered = batch.redelivered;
    channel = channel_.c_str();
    conversation = conversation_.c_str();
  }

 private:
  std::string channel_;
  std::string conversation_;
};

beeline_buffer_status* status_of(beeline::BufferStatus status) {
  auto* const view = new DepthList(std::move(status.channels), depth_view);
  view->unrouted = status.unrouted;
  view->oldest_age_ms = status.oldest_age.count();
  view->waiting_batches = status.waiting_batches;
  view->waiting_messages = status.waiting_messages;
  view->leased_batches = status.leased_batches;
  view->leased_messages = status.leased_messages;
  view->waiting_tasks = status.waiting_tasks;
  view->open_tasks = status.open_tasks;
  return view;
}

}  // namespace

void beeline_buffer_batch_free(beeline_buffer_batch* batch) {
  delete static_cast<OwnedBatch*>(batch);
}
void beeline_buffer_status_free(beeline_buffer_status* status) { DepthList::free(status); }
void beeline_buffer_tasks_free(beeline_buffer_tasks* tasks) { TaskList::free(tasks); }

beeline_code beeline_buffer_put(beeline_agent* agent, const char* buffer,
                                const beeline_buffer_entry* entry, int64_t timeout_ns, int64_t* id,
                                bool* repeated) {
  return checked(__func__, {{"agent", agent}, {"entry", entry}},
                 [&](const char* function) -> beeline_code {
                   if (id != nullptr) *id = 0;
                   if (repeated != nullptr) *repeated = false;
                   beeline::BufferEntry wanted;
                   const beeline_code read = read_entry(function, entry, wanted);
                   if (read != BEELINE_OK) return read;
                   auto put = buffer_of(*agent, buffer).put(wanted, answer_deadline_of(timeout_ns));
                   if (!put) return failed(std::move(put.error()));
                   if (id != nullptr) *id = put->id;
                   if (repeated != nullptr) *repeated = put->repeated;
                   return BEELINE_OK;
                 });
}

beeline_code beeline_buffer_next(beeline_agent* agent, const char* buffer, uint32_t count) {
  return checked(__func__, {{"agent", agent}},
                 [&](const char*) { return outcome_of(buffer_of(*agent, buffer).next(count)); });
}

beeline_code beeline_buffer_read(const beeline_message* message, beeline_buffer_batch** batch) {
  return checked(__func__, {{"message", message}, {"batch", batch}},
                 [&](const char* function) -> beeline_code {
                   *batch = nullptr;
                   if (!message->message.valid()) return ended(function, "the lease has ended");
                   auto read = beeline::Buffer::read(message->message);
                   if (!read) return failed(std::move(read.error()));
                   *batch = new OwnedBatch(std::move(*read));
                   return BEELINE_OK;
                 });
}

beeline_code beeline_buffer_acknowledge(beeline_agent* agent, const char* buffer, int64_t batch,
                                        bool* was_open) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    if (was_open != nullptr) *was_open = false;
    auto ended = buffer_of(*agent, buffer).acknowledge(batch);
    if (!ended) return failed(std::move(ended.error()));
    if (was_open != nullptr) *was_open = *ended;
    return BEELINE_OK;
  });
}

beeline_code beeline_buffer_describe(beeline_agent* agent, const char* buffer,
                                     beeline_buffer_status** status) {
  return checked(__func__, {{"agent", agent}, {"status", status}},
                 [&](const char*) -> beeline_code {
                   *status = nullptr;
                   auto found = buffer_of(*agent, buffer).status();
                   if (!found) return failed(std::move(found.error()));
                   *status = status_of(std::move(*found));
                   return BEELINE_OK;
                 });
}

beeline_code beeline_buffer_list_tasks(beeline_agent* agent, const char* buffer, const char* status,
                                       beeline_buffer_tasks** tasks) {
  return checked(__func__, {{"agent", agent}, {"tasks", tasks}}, [&](const char*) -> beeline_code {
    *tasks = nullptr;
    auto listed = buffer_of(*agent, buffer).tasks(text_or(status, ""));
    if (!listed) return failed(std::move(listed.error()));
    *tasks = new TaskList(std::move(*listed), buffer_task_view);
    return BEELINE_OK;
  });
}
