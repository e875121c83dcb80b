#pragma once

/* The durable buffer: messages on the disk, sorted into batches. <beeline/buffer.h> says more.
 * Texts end with a zero byte. `buffer` is the name of the agent that keeps the messages; null:
 * "buffer". A plain message to it is a put, too: it is acknowledged once it is on the disk, so
 * beeline_send_acked_start() is the put of a loop.
 *
 * Codes of all calls that wait for the buffer: those of beeline_request() (BEELINE_NO_AGENT: no
 * buffer runs under this name), BEELINE_INVALID (a value and its limit), BEELINE_FULL (the disk of
 * the buffer: nothing was kept), BEELINE_TIMEOUT, BEELINE_SYSTEM, BEELINE_PROTOCOL (the buffer has
 * another version, or another program has the name). Those without a timeout wait up to 60 s. */

#include <beeline/c/agent.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of the messages that bring batches. */
#define BEELINE_BUFFER_BATCH "buffer.batch"

/** A message for the buffer. A text that is null is empty. */
typedef struct beeline_buffer_entry {
  size_t size;
  const char* channel;      /**< not empty */
  const char* sender;       /**< empty: the name of the agent that puts it */
  const char* conversation; /**< batches are made by conversation and channel */
  const char* payload;      /**< usually JSON */
  size_t payload_length;    /**< BEELINE_TEXT: up to a zero byte */
  const char* key;          /**< a second put of the channel with this key gets the first row */
  int32_t priority;         /**< lower first; counts if `sets_priority` is true */
  bool sets_priority;       /**< else that of the route or of the channel, or 100 */
} beeline_buffer_entry;
static inline void beeline_buffer_entry_init(beeline_buffer_entry* entry) {
  memset(entry, 0, sizeof *entry);
  entry->size = sizeof *entry;
  entry->payload_length = BEELINE_TEXT;
}

/** Returns once the message is on the disk. `id` (of the row) and `repeated` (the row was there
 * already) may be null. BEELINE_FULL: the disk of the buffer; nothing was kept. */
BEELINE_API beeline_code beeline_buffer_put(beeline_agent* agent, const char* buffer,
                                            const beeline_buffer_entry* entry, int64_t timeout_ns,
                                            int64_t* id, bool* repeated);

/** Asks for `count` more batches, 1 to 64; waits only for room in the lane of the buffer, up to
 * 60 s. Each comes as a message of the type BEELINE_BUFFER_BATCH; beeline_message_done() ends the
 * batch. An agent has at most 64 that it has asked for and not got: the buffer drops more in
 * silence. Codes: BEELINE_INVALID (a wrong count), those of a send (BEELINE_NO_AGENT,
 * BEELINE_FULL). */
BEELINE_API beeline_code beeline_buffer_next(beeline_agent* agent, const char* buffer,
                                             uint32_t count);

/** A message as the buffer keeps it. */
typedef struct beeline_buffered_message {
  int64_t id;
  const char* channel;
  const char* sender;
  const char* conversation;
  const char* payload;
  size_t payload_length;
  const char* received_at; /**< UTC, "2026-01-31 12:00:00.250" */
  int32_t priority;
} beeline_buffered_message;
/** Messages of one conversation on one channel, by id. All is valid until the batch is freed; the
 * message that brought it may end before. */
typedef struct beeline_buffer_batch {
  int64_t id;
  const char* channel;
  const char* conversation;
  bool redelivered; /**< it was handed out before, and not acknowledged */
  size_t count;     /**< at least 1 */
  const beeline_buffered_message* items;
} beeline_buffer_batch;
/** Reads a message of the type BEELINE_BUFFER_BATCH. BEELINE_INVALID: it is none. */
BEELINE_API beeline_code beeline_buffer_read(const beeline_message* message,
                                             beeline_buffer_batch** batch);
BEELINE_API void beeline_buffer_batch_free(beeline_buffer_batch* batch);

/** Ends a batch by its number, also after a restart of the buffer. `was_open` may be null; false:
 * the batch had ended before. BEELINE_INVALID: the batch was never handed out, or is so old that it
 * was removed. */
BEELINE_API beeline_code beeline_buffer_acknowledge(beeline_agent* agent, const char* buffer,
                                                    int64_t batch, bool* was_open);

/** The messages of a channel that no batch has yet. */
typedef struct beeline_buffer_depth {
  const char* channel;
  uint64_t unrouted;
  int64_t oldest_age_ms;
} beeline_buffer_depth;
/** The texts and items are valid until the status is freed. */
typedef struct beeline_buffer_status {
  uint64_t unrouted;        /**< messages that no batch has yet */
  int64_t oldest_age_ms;    /**< of an unrouted message; 0: there is none */
  uint64_t waiting_batches; /**< for the main agent */
  uint64_t waiting_messages;
  uint64_t leased_batches; /**< handed out and not acknowledged */
  uint64_t leased_messages;
  uint64_t waiting_tasks;
  uint64_t open_tasks; /**< their agents start or run */
  size_t count;        /**< channels with unrouted messages, by name */
  const beeline_buffer_depth* items;
} beeline_buffer_status;
BEELINE_API beeline_code beeline_buffer_describe(beeline_agent* agent, const char* buffer,
                                                 beeline_buffer_status** status);
BEELINE_API void beeline_buffer_status_free(beeline_buffer_status* status);

/** A batch for which the buffer has spawned an agent, or will. A zero byte in `text` or `result`
 * ends it early; `beeline buffer show task` has all. */
typedef struct beeline_buffer_task {
  int64_t id;
  int64_t batch;
  const char* channel;
  const char* conversation;
  const char* agent_template;
  const char* text;
  const char* status; /**< "waiting", "starting", "running", "completed" or "failed" */
  beeline_pid pid;    /**< of the agent; 0: none yet */
  bool has_exit_code;
  int32_t exit_code;
  const char* result; /**< or the reason of the failure */
} beeline_buffer_task;
/** The texts and items are valid until the list is freed. */
typedef struct beeline_buffer_tasks {
  size_t count;
  const beeline_buffer_task* items;
} beeline_buffer_tasks;
/** The newest tasks first, at most 1,000. A `status` that is null means all. */
BEELINE_API beeline_code beeline_buffer_list_tasks(beeline_agent* agent, const char* buffer,
                                                   const char* status,
                                                   beeline_buffer_tasks** tasks);
BEELINE_API void beeline_buffer_tasks_free(beeline_buffer_tasks* tasks);

#ifdef __cplusplus
}
#endif
