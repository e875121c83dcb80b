#pragma once

/* The words of the C interface: codes, numbers, options. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BEELINE_API __attribute__((visibility("default")))

/** The result of a call. The numbers never change. */
typedef int32_t beeline_code;
enum {
  BEELINE_OK = 0,
  BEELINE_SYSTEM = 1,           /**< a system call failed: see beeline_error_errno() */
  BEELINE_INVALID = 2,          /**< an argument that the caller can correct */
  BEELINE_NO_COORDINATOR = 3,   /**< no process listens on the hive's socket */
  BEELINE_ALREADY_RUNNING = 4,  /**< another process holds the name */
  BEELINE_NO_AGENT = 5,         /**< no agent of that name or pid */
  BEELINE_NO_ROUTE = 6,         /**< no route leads there, or this agent has left */
  BEELINE_DENIED = 7,           /**< a rule or a permission forbids it */
  BEELINE_TIMEOUT = 8,          /**< the time given was over */
  BEELINE_FULL = 9,             /**< a lane or a table has no room now; nothing was sent */
  BEELINE_TOO_BIG = 10,         /**< larger than beeline_error_limit(); waiting does not help */
  BEELINE_PEER_DEAD = 11,       /**< the other side has ended */
  BEELINE_PEER_DEAD_TAKEN = 12, /**< it ended after it took the message: it may have acted on it */
  BEELINE_LOOP = 13,            /**< more than max_hops messages away from the origin */
  BEELINE_NO_MEMORY = 14,       /**< no memory to be had; nothing was changed */
  BEELINE_BAD_SEGMENT = 15,     /**< a segment is not as promised */
  BEELINE_WRONG_VERSION = 16,   /**< the two sides speak different layouts or protocols */
  BEELINE_PROTOCOL = 17,        /**< the other side broke the rules of the wire */
  BEELINE_CLOSED = 18,          /**< the hive went down, or this life of the agent has ended */
  BEELINE_NOTICE = 19,          /**< a notice waits, and the caller asked to be told */
  BEELINE_UNANSWERED = 20,      /**< the receiver finished a request and did not answer it */
  BEELINE_REJECTED = 21,        /**< the request is a dead letter of its receiver */
  BEELINE_FAILED = 22,          /**< the handler of a task failed; the text says why */
  BEELINE_RATE_LIMITED = 23,    /**< send_rate of this agent for this peer; nothing was sent */
  BEELINE_NOTHING = 24          /**< no error: there is nothing now */
};

/** The word for a code, for example "no_agent". Static. */
BEELINE_API const char* beeline_code_name(beeline_code code);

/** The words of the last call of this thread that failed: the event, the place, the limit, the
 * value, and the next step. Valid until this thread calls the library again. Empty if none has
 * failed. */
BEELINE_API const char* beeline_error_text(void);
/** The errno behind it, 0 if no system call failed. */
BEELINE_API int beeline_error_errno(void);
/** Bytes for BEELINE_TOO_BIG, messages for BEELINE_LOOP, else 0. */
BEELINE_API uint64_t beeline_error_limit(void);

/** The version of the library, for example "0.1.0". Static. */
BEELINE_API const char* beeline_version(void);

#define BEELINE_TEXT SIZE_MAX
#define BEELINE_FOREVER INT64_MAX

/** Number of an agent in its hive; 1 is the coordinator, 0 is none. */
typedef uint32_t beeline_pid;
/** Id of a message; 0 is none. */
typedef uint64_t beeline_id;

/** Room for an id as people read it. */
#define BEELINE_ID_TEXT_SIZE 24
/** Writes the id as people read it, "3:21" for example, with a zero byte. Returns its length. */
BEELINE_API size_t beeline_id_text(beeline_id id, char text[BEELINE_ID_TEXT_SIZE]);
/** The id that beeline_id_text() wrote; 0 if it cannot have written this text. */
BEELINE_API beeline_id beeline_parse_id(const char* text, size_t length);

/** The receiver of a call. beeline_find_peer() gives one whose link is open, valid for the agent
 * that gave it. beeline_peer_of() names an agent by its number: the link is looked up in each call,
 * and opened by the first. */
typedef struct beeline_peer {
  uint32_t slot;
  beeline_pid pid;
} beeline_peer;
static inline beeline_peer beeline_peer_of(beeline_pid pid) {
  beeline_peer peer;
  peer.slot = UINT32_MAX;
  peer.pid = pid;
  return peer;
}

/** Ranks: lower first. */
enum { BEELINE_CRITICAL = 0, BEELINE_HIGH = 1, BEELINE_NORMAL = 2, BEELINE_LOW = 3 };

/** The relation of a sender to its receiver in the tree. */
enum {
  BEELINE_FROM_SYSTEM = 0,
  BEELINE_FROM_PARENT = 1,
  BEELINE_FROM_CHILD = 2,
  BEELINE_FROM_SIBLING = 3,
  BEELINE_FROM_OTHER = 4
};

/** Room for a type or a channel: 31 bytes and a zero byte. */
#define BEELINE_WORD_SIZE 32

/** The place of a message in a distributed trace, as in the W3C header `traceparent`. */
typedef struct beeline_trace {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t flags;
} beeline_trace;

typedef struct beeline_agent beeline_agent;
typedef struct beeline_message beeline_message;

/** See SendOptions in <beeline/types.h>. */
typedef struct beeline_send_options {
  size_t size;
  int32_t rank;
  uint32_t ttl_ms;  /**< milliseconds until it expires, 0: never */
  const char* type; /**< at most 31 bytes; null: none */
  size_t type_length;
  const char* channel; /**< as `type` */
  size_t channel_length;
  beeline_id reply_to; /**< the message that this one answers */
  beeline_id cause;    /**< 0: inherited */
  beeline_trace trace; /**< all zero: inherited */
  uint16_t hops;       /**< of a message forwarded for another agent */
  bool inherit;        /**< false: nothing to do with the message that is being handled */
  bool requires_ack;
  bool cancel_on_timeout;       /**< a request takes the message back when its wait ends */
  const beeline_message* about; /**< inherit from this held message; null: from the one in hand */
} beeline_send_options;
static inline void beeline_send_options_init(beeline_send_options* options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->rank = BEELINE_NORMAL;
  options->type_length = BEELINE_TEXT;
  options->channel_length = BEELINE_TEXT;
  options->inherit = true;
}

/** Selects messages: those that match all fields that are set. */
typedef struct beeline_filter {
  size_t size;
  beeline_pid from;
  bool oldest_first; /**< the oldest one first, whatever its rank */
  beeline_id reply_to;
  const char* type; /**< null: any */
  size_t type_length;
  const char* channel; /**< null: any */
  size_t channel_length;
} beeline_filter;
static inline void beeline_filter_init(beeline_filter* filter) {
  memset(filter, 0, sizeof *filter);
  filter->size = sizeof *filter;
  filter->type_length = BEELINE_TEXT;
  filter->channel_length = BEELINE_TEXT;
}

#ifdef __cplusplus
}
#endif
