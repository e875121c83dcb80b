#pragma once

/* The hive around an agent: other agents, groups, inboxes, counters, notices. The texts and items
 * of a list are valid until the list is freed. */

#include <beeline/c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  BEELINE_IDLE = 0,
  BEELINE_RUNNING = 1,
  BEELINE_BLOCKED = 2,
  BEELINE_SLEEPING = 3,
  BEELINE_ZOMBIE = 4,
  BEELINE_DEAD = 5
};
/** An agent as the coordinator knows it: see AgentInfo in <beeline/registry.h>. */
typedef struct beeline_agent_info {
  beeline_pid pid;
  beeline_pid parent; /**< 0: it is the coordinator itself */
  const char* name;
  const char* role;
  int32_t state;
  uint32_t children;
  int64_t started_unix_ns;
  int64_t away_unix_ns; /**< since when it has no process; 0: it has one */
  int32_t os_pid;       /**< 0: it has no process */
  uint32_t uid;
  uint64_t restarts;
  bool temporary;
} beeline_agent_info;
typedef struct beeline_agents {
  size_t count;
  const beeline_agent_info* items;
} beeline_agents;
BEELINE_API void beeline_agents_free(beeline_agents* agents);

/** The other children of this agent's parent. */
BEELINE_API beeline_code beeline_siblings(beeline_agent* agent, beeline_agents** agents);
/** The children of this agent, or all its descendants. */
BEELINE_API beeline_code beeline_children(beeline_agent* agent, bool recursive,
                                          beeline_agents** agents);
/** A list of one: the agent of that pid; 0 is this agent. */
BEELINE_API beeline_code beeline_info(beeline_agent* agent, beeline_pid pid,
                                      beeline_agents** agents);
/** A list of one: the agent that a name means. */
BEELINE_API beeline_code beeline_find(beeline_agent* agent, const char* name, size_t length,
                                      beeline_agents** agents);

enum {
  BEELINE_GROUP_ALL = 0,
  BEELINE_GROUP_CHILDREN = 1,
  BEELINE_GROUP_SUBTREE = 2,
  BEELINE_GROUP_ROLE = 3
};
/** The result of a broadcast for one of its targets. */
typedef struct beeline_delivery {
  beeline_pid pid;
  const char* name;
  beeline_code code;
  beeline_id id;    /**< of the message, with BEELINE_OK */
  const char* text; /**< the words of an error */
} beeline_delivery;
typedef struct beeline_deliveries {
  size_t count;
  const beeline_delivery* items;
} beeline_deliveries;
/** Sends to each agent of a group. `role` is for BEELINE_GROUP_ROLE and ends with a zero byte. */
BEELINE_API beeline_code beeline_broadcast(beeline_agent* agent, int32_t group, const char* role,
                                           const void* payload, size_t length,
                                           const beeline_send_options* options,
                                           beeline_deliveries** deliveries);
BEELINE_API void beeline_deliveries_free(beeline_deliveries* deliveries);

enum {
  BEELINE_PLACE_QUEUED = 0,
  BEELINE_PLACE_LANE = 1,
  BEELINE_PLACE_TASK = 2,
  BEELINE_PLACE_AWAITED = 3,
  BEELINE_PLACE_STASHED = 4,
  BEELINE_PLACE_ORDER = 5,
  BEELINE_PLACE_UNWANTED = 6,
  BEELINE_PLACE_LEASED = 7,
  BEELINE_PLACE_DEAD = 8
};
/** The word for a place, for example "queued". Static. */
BEELINE_API const char* beeline_place_name(int32_t place);
/** One message of an inbox. */
typedef struct beeline_inbox_item {
  beeline_id id;
  beeline_pid from;
  const char* from_name;
  beeline_id reply_to;
  beeline_id cause;
  uint32_t hops;
  int32_t rank;
  uint32_t length;
  uint32_t attempts;
  int64_t sent_ns;
  uint32_t ttl_ms;
  bool requires_ack;
  int32_t place;
  const char* type;
  const char* channel;
  const char* reason;  /**< why it is dead, or will not be handed out */
  const void* preview; /**< the first bytes of the payload, at most 64 */
  size_t preview_length;
} beeline_inbox_item;
typedef struct beeline_inbox {
  size_t count;
  const beeline_inbox_item* items;
  size_t length;        /**< how many wait to be handed out */
  size_t damaged_links; /**< of another agent: their messages are not listed */
  beeline_pid pid;
  const char* name;
} beeline_inbox;
/** Lists the inbox of this agent; takes nothing. `filter` may be null. */
BEELINE_API beeline_code beeline_list_inbox(beeline_agent* agent, size_t most,
                                            const beeline_filter* filter, beeline_inbox** inbox);
/** Lists the inbox of another agent, without being an agent: see look_into_inbox(). `hive` ends
 * with a zero byte; null is the default. Any thread may call it. */
BEELINE_API beeline_code beeline_look_into_inbox(const char* hive, const char* name, size_t length,
                                                 int64_t control_timeout_ns, beeline_inbox** inbox);
BEELINE_API void beeline_inbox_free(beeline_inbox* inbox);

/** Puts a dead letter back into the inbox. */
BEELINE_API beeline_code beeline_requeue_dead(beeline_agent* agent, beeline_id id);
/** Drops a dead letter. False if there is none of this id. */
BEELINE_API bool beeline_purge_dead(beeline_agent* agent, beeline_id id);
/** Drops all dead letters; returns how many. */
BEELINE_API size_t beeline_purge_all_dead(beeline_agent* agent);

/** See InboxCounters in <beeline/types.h>. */
typedef struct beeline_counters {
  size_t size;
  uint64_t drained;
  uint64_t queued;
  uint64_t tasks;
  uint64_t leased;
  uint64_t done;
  uint64_t dead;
  uint64_t purged;
  uint64_t requeued;
  uint64_t quarantined_links;
  uint64_t late_replies;
  uint64_t acks_dropped;
  uint64_t acks_unread;
  uint64_t copies_dropped;
  uint64_t notices_dropped;
} beeline_counters;
static inline void beeline_counters_init(beeline_counters* counters) {
  memset(counters, 0, sizeof *counters);
  counters->size = sizeof *counters;
}
/** Fills `counters` up to counters->size. */
BEELINE_API beeline_code beeline_count(const beeline_agent* agent, beeline_counters* counters);

/** The traffic with one peer. */
typedef struct beeline_link {
  beeline_pid peer;
  bool is_away;
  uint64_t sent;
  uint64_t not_taken;
  uint64_t received;
  uint64_t copies_dropped;
} beeline_link;
typedef struct beeline_links {
  size_t count;
  const beeline_link* items;
} beeline_links;
BEELINE_API beeline_code beeline_list_links(const beeline_agent* agent, beeline_links** links);
BEELINE_API void beeline_links_free(beeline_links* links);

enum { BEELINE_CHILD_AWAY = 0, BEELINE_CHILD_DEAD = 1, BEELINE_SHUTDOWN = 2 };
/** An event that is not a message. */
typedef struct beeline_notice {
  int32_t kind;
  beeline_pid pid;
  const char* name; /**< valid until the next call of beeline_next_notice() for this agent */
} beeline_notice;
/** The next one, or BEELINE_NOTHING. */
BEELINE_API beeline_code beeline_next_notice(beeline_agent* agent, beeline_notice* notice);

#ifdef __cplusplus
}
#endif
