#pragma once

/* Messages that were handed out, and memory for messages to be sent. */

#include <beeline/c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A beeline_message is a lease, as class Message in <beeline/message.h>. Its payload is read in
 * place and stays valid until the lease ends. These end the lease: beeline_message_done(),
 * _requeue(), _put_back(), _reject(), _escalate(), and beeline_reply() of a deferred one. Then the
 * functions below do nothing, and the handle still has to be freed. */

/** Frees the handle. A lease that has not ended is requeued; an answer is done. */
BEELINE_API void beeline_message_free(beeline_message* message);
/** False once the lease has ended. */
BEELINE_API bool beeline_message_is_held(const beeline_message* message);

/** The bytes of the payload, or null with the length 0 once the lease has ended. */
BEELINE_API const void* beeline_message_payload(const beeline_message* message, size_t* length);

/** The facts about a message. */
typedef struct beeline_message_info {
  size_t size;
  beeline_id id;
  beeline_pid from; /**< it cannot be forged */
  beeline_pid to;   /**< this agent; of a copy, the other child */
  beeline_id reply_to;
  beeline_id cause;
  beeline_trace trace;
  int32_t rank; /**< as the receiver computed it */
  uint32_t hops;
  uint32_t attempts;    /**< deliveries before this one that ended without done() */
  uint32_t ttl_ms;      /**< 0: never expires */
  int64_t sent_ns;      /**< CLOCK_MONOTONIC, in steps of 4 ms */
  uint64_t full_length; /**< bytes of the original; more than the payload where it is cut */
  bool redelivered;
  bool is_copy;    /**< of a message from one child to another */
  bool is_cut;     /**< the payload is only the start of the original */
  bool is_control; /**< from an agent above: see beeline_send_control() */
  bool requires_ack;
  char type[BEELINE_WORD_SIZE];
  char channel[BEELINE_WORD_SIZE];
} beeline_message_info;
static inline void beeline_message_info_init(beeline_message_info* info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/** Fills `info` up to info->size. BEELINE_CLOSED: the lease has ended. */
BEELINE_API beeline_code beeline_message_describe(const beeline_message* message,
                                                  beeline_message_info* info);
/** The id; 0 once the lease has ended. */
BEELINE_API beeline_id beeline_message_id(const beeline_message* message);
/** Name of the sender, empty if it was forgotten. Valid until the lease ends. */
BEELINE_API const char* beeline_message_from_name(const beeline_message* message, size_t* length);
/** The relation of the sender to this agent now. */
BEELINE_API int32_t beeline_message_relation(const beeline_message* message);
/** The nearest common ancestor of sender and receiver; 0 if one is the parent of the other. */
BEELINE_API beeline_pid beeline_message_via(const beeline_message* message);
/** True once its sender has taken it back, or the lease has ended. */
BEELINE_API bool beeline_message_is_cancelled(beeline_message* message);

/** Handled. A text, if there is one, answers a request that got no reply. */
BEELINE_API void beeline_message_done(beeline_message* message, const char* reply, size_t length);
/** Back to its place in the inbox, one attempt more. */
BEELINE_API void beeline_message_requeue(beeline_message* message);
/** Back to its place as if it had not been handed out. */
BEELINE_API void beeline_message_put_back(beeline_message* message);
/** Makes it a dead letter with the reason `rejected`. */
BEELINE_API void beeline_message_reject(beeline_message* message, const char* reply, size_t length);
/** Takes it over: beeline_reply() ends it later. */
BEELINE_API void beeline_message_defer(beeline_message* message);
/** Hands it to the parent, then ends it. If that fails, the lease goes on. */
BEELINE_API beeline_code beeline_message_escalate(beeline_message* message);

/** Answers a message. If it was deferred, that ends it, else the caller still has to. Waits for
 * room until the time is over. `id` may be null. Errors of beeline_send(), and BEELINE_CLOSED. */
BEELINE_API beeline_code beeline_reply(beeline_message* message, const void* payload, size_t length,
                                       int64_t timeout_ns, const beeline_send_options* options,
                                       beeline_id* id);

/** Writable payload memory in a link, sent without copying. */
typedef struct beeline_loan beeline_loan;

/** Lends memory in the link to a peer. Errors: BEELINE_FULL, _TOO_BIG, _NO_MEMORY, _PEER_DEAD,
 * _INVALID, _CLOSED. */
BEELINE_API beeline_code beeline_borrow(beeline_agent* agent, beeline_peer peer, size_t length,
                                        int64_t timeout_ns, beeline_loan** loan);
/** The memory, 64-byte aligned (page-aligned from 4 KiB on); it holds bytes of an earlier message.
 * Null once it was sent. */
BEELINE_API void* beeline_loan_bytes(beeline_loan* loan, size_t* length);
/** Makes the message shorter than the loan. BEELINE_INVALID: it would be longer. */
BEELINE_API beeline_code beeline_loan_shrink(beeline_loan* loan, size_t length);
/** Sends it. After BEELINE_FULL it can be sent again. The handle still has to be freed. */
BEELINE_API beeline_code beeline_loan_send(beeline_loan* loan, int64_t timeout_ns,
                                           const beeline_send_options* options, beeline_id* id);
/** Frees the handle. Memory that was not sent goes back. */
BEELINE_API void beeline_loan_free(beeline_loan* loan);

#ifdef __cplusplus
}
#endif
