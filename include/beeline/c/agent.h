#pragma once

/* Agents: attach, send, receive, request. Class Agent in <beeline/agent.h> says more of each. */

#include <beeline/c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BEELINE_AGED = 0, BEELINE_STRICT = 1, BEELINE_FIFO = 2 };
enum { BEELINE_WAIT_ADAPTIVE = 0, BEELINE_WAIT_SLEEP = 1, BEELINE_WAIT_SPIN = 2 };

/** See AttachOptions in <beeline/types.h> for limits and meaning. Texts end with a zero byte; null
 * is the default. */
typedef struct beeline_attach_options {
  size_t size;
  const char* hive;
  const char* name;
  const char* parent;
  const char* role;
  bool temporary;
  bool start_coordinator;
  bool raise_fd_limit;
  int64_t control_timeout_ns;
  int32_t order;
  int32_t wait;
  int64_t spin_ns;
  double aging_factor;
  uint32_t inbox_capacity;
  uint32_t max_attempts;
  int64_t retry_pause_ns;
  uint32_t max_hops;
  uint32_t normal_slots;
  uint32_t urgent_slots;
  uint32_t send_burst;
  uint64_t max_payload_bytes;
  double send_rate;
  double receive_rate;
  uint32_t receive_burst;
} beeline_attach_options;
static inline void beeline_attach_options_init(beeline_attach_options* options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->start_coordinator = true;
  options->raise_fd_limit = true;
  options->control_timeout_ns = INT64_C(10000000000);
  options->spin_ns = 20000;
  options->aging_factor = 0.1;
  options->inbox_capacity = 4096;
  options->max_attempts = 3;
  options->max_hops = 32;
  options->normal_slots = 256;
  options->urgent_slots = 16;
}

/** Joins a hive. Errors: see Agent::attach(). */
BEELINE_API beeline_code beeline_attach(const beeline_attach_options* options,
                                        beeline_agent** agent);
/** The same in two steps, for a loop that waits nowhere else. */
typedef struct beeline_attaching beeline_attaching;
BEELINE_API beeline_code beeline_attach_start(const beeline_attach_options* options,
                                              beeline_attaching** attaching);
/** Readable once beeline_attach_finish() does not wait. Do not read or close it. */
BEELINE_API int beeline_attaching_fd(const beeline_attaching* attaching);
/** The agent. BEELINE_INVALID: it was called before. */
BEELINE_API beeline_code beeline_attach_finish(beeline_attaching* attaching, beeline_agent** agent);
/** Frees the handle. An agent that was not fetched leaves the hive. */
BEELINE_API void beeline_attaching_free(beeline_attaching* attaching);

/** Leaves the hive: waits until the receivers have taken everything sent, or the time is over.
 * `left` may be null; it gets the number of messages and acknowledgements that still lie in lanes
 * or are lost. */
BEELINE_API beeline_code beeline_detach(beeline_agent* agent, int64_t drain_ns, uint64_t* left);
/** Detaches without waiting, where that was not done yet, and frees the agent. Messages that are
 * still held are requeued. In a handler of beeline_serve() the agent is detached, and freed at the
 * end of that call. */
BEELINE_API void beeline_close(beeline_agent* agent);

BEELINE_API beeline_pid beeline_agent_pid(const beeline_agent* agent);
/** Pid of the parent; 1 for a child of the coordinator. */
BEELINE_API beeline_pid beeline_agent_parent(const beeline_agent* agent);
/** Valid as long as the agent. */
BEELINE_API const char* beeline_agent_name(const beeline_agent* agent);
BEELINE_API uint64_t beeline_agent_incarnation(const beeline_agent* agent);

/** Opens the link to the agent that a name or a pid in decimal means, or finds the open one. */
BEELINE_API beeline_code beeline_find_peer(beeline_agent* agent, const char* name, size_t length,
                                           beeline_peer* peer);
/** Waits until an agent of that name is there. The call fails when `process`, unless it is 0, has
 * ended, and with BEELINE_NOTICE while `stop_fd`, unless it is -1, is readable. */
BEELINE_API beeline_code beeline_wait_for(beeline_agent* agent, const char* name, size_t length,
                                          int64_t timeout_ns, int32_t process, int stop_fd,
                                          beeline_peer* peer);

/** Sends, and waits for room until the time is over. With BEELINE_OK the message is in the
 * receiver's lane, and a kill of this process does not lose it. With any other code nothing was
 * sent. `id` may be null. */
BEELINE_API beeline_code beeline_send(beeline_agent* agent, beeline_peer peer, const void* payload,
                                      size_t length, int64_t timeout_ns,
                                      const beeline_send_options* options, beeline_id* id);

/** The next message in delivery order, after a wait of `timeout_ns` at most. BEELINE_NOTHING: none
 * has come in that time. BEELINE_CLOSED: none will come. */
BEELINE_API beeline_code beeline_receive(beeline_agent* agent, int64_t timeout_ns,
                                         const beeline_filter* filter, beeline_message** message);
/** Fills `messages` with the next `most` messages at most, all leases of their own. */
BEELINE_API beeline_code beeline_receive_batch(beeline_agent* agent, int64_t timeout_ns,
                                               const beeline_filter* filter,
                                               beeline_message** messages, size_t most,
                                               size_t* count);

/** Sends to a peer and waits for its answer. */
BEELINE_API beeline_code beeline_request(beeline_agent* agent, beeline_peer peer,
                                         const void* payload, size_t length, int64_t timeout_ns,
                                         const beeline_send_options* options,
                                         beeline_message** answer);

/** One of several requests. */
typedef struct beeline_question {
  beeline_peer peer;
  const void* payload;
  size_t length;
  const beeline_send_options* options;
} beeline_question;
/** The answer to one of them: a code, and with BEELINE_OK a message to be freed. */
typedef struct beeline_answer {
  beeline_id id; /**< of the request; 0 where beeline_request_all() gives it */
  beeline_code code;
  beeline_message* message;
} beeline_answer;
/** Sends all requests and waits for all answers; `answers` has as many places. One that fails does
 * not end the others. beeline_error_text() has the words of the last one that failed. */
BEELINE_API beeline_code beeline_request_all(beeline_agent* agent,
                                             const beeline_question* questions, size_t count,
                                             int64_t timeout_ns, beeline_answer* answers);

/** Sends a message; beeline_next_result() will give its answer. */
BEELINE_API beeline_code beeline_fire_and_forget(beeline_agent* agent, beeline_peer peer,
                                                 const void* payload, size_t length,
                                                 const beeline_send_options* options,
                                                 beeline_id* id);
/** The next answer that beeline_receive() does not hand out: those to beeline_fire_and_forget(),
 * late and duplicate ones, and unclaimed `task_response` messages. */
BEELINE_API beeline_code beeline_next_result(beeline_agent* agent, beeline_message** message);

/** Takes back a message that this agent sent. */
BEELINE_API beeline_code beeline_cancel(beeline_agent* agent, beeline_peer peer, beeline_id id);
/** Sends a control message, "steer" or "shutdown" for example. */
BEELINE_API beeline_code beeline_send_control(beeline_agent* agent, beeline_peer peer,
                                              const char* type, size_t type_length,
                                              const void* payload, size_t length,
                                              const beeline_send_options* options, beeline_id* id);
/** Sends an escalation to the parent, or to the next ancestor that lives. */
BEELINE_API beeline_code beeline_escalate(beeline_agent* agent, const void* payload, size_t length,
                                          const beeline_send_options* options, beeline_id* id);

enum {
  BEELINE_ACK_ACCEPTED = 0,
  BEELINE_ACK_QUEUED = 1,
  BEELINE_ACK_REJECTED = 2,
  BEELINE_ACK_ESCALATE = 3
};
/** The receiver's word on a message. */
typedef struct beeline_ack {
  beeline_id id;     /**< of the message */
  beeline_code code; /**< BEELINE_OK, or why there is no acknowledgement */
  int32_t status;    /**< BEELINE_ACK_ACCEPTED and so on */
  const char* reply; /**< valid until the next call of this kind for this agent */
  size_t reply_length;
  bool is_cut; /**< `reply` is the start of a longer one */
} beeline_ack;
/** Waits for the acknowledgement of a message sent with requires_ack. Returns ack->code. */
BEELINE_API beeline_code beeline_await_ack(beeline_agent* agent, beeline_peer peer, beeline_id id,
                                           int64_t timeout_ns, beeline_ack* ack);
/** Sends with requires_ack and waits. Returns ack->code. */
BEELINE_API beeline_code beeline_send_acked(beeline_agent* agent, beeline_peer peer,
                                            const void* payload, size_t length, int64_t timeout_ns,
                                            const beeline_send_options* options, beeline_ack* ack);

/** Called by beeline_serve() in its own thread. The handler may end the message and must not free
 * it, except where it returns BEELINE_ACK_QUEUED: then it keeps the handle, and beeline_reply()
 * ends it later. The result says what happens to a message that has not ended. */
typedef int32_t (*beeline_handler)(beeline_message* message, void* user);
/** Handles messages until the time is over, until `most` were handled, or until
 * beeline_stop_serving(). `handled` may be null. */
BEELINE_API beeline_code beeline_serve(beeline_agent* agent, beeline_handler handler, void* user,
                                       int64_t timeout_ns, size_t most, size_t* handled);
BEELINE_API void beeline_stop_serving(beeline_agent* agent);

/** True while a critical message waits. */
BEELINE_API bool beeline_urgent(beeline_agent* agent);
/** Says that this agent sleeps, or no longer sleeps. */
BEELINE_API void beeline_set_sleeping(beeline_agent* agent, bool sleeping);

/** Sends through an agent from any thread. */
typedef struct beeline_sender beeline_sender;
BEELINE_API beeline_code beeline_sender_new(beeline_agent* agent, beeline_sender** sender);
/** As beeline_send(); the peer comes from beeline_find_peer(). Any number of threads may call it
 * with one sender. BEELINE_CLOSED: the agent was closed. beeline_close() waits for calls that have
 * begun. */
BEELINE_API beeline_code beeline_sender_send(beeline_sender* sender, beeline_peer peer,
                                             const void* payload, size_t length, int64_t timeout_ns,
                                             const beeline_send_options* options, beeline_id* id);
/** Any thread may free it, once no thread uses it. */
BEELINE_API void beeline_sender_free(beeline_sender* sender);

#ifdef __cplusplus
}
#endif
