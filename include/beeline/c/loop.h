#pragma once

/* An agent in an event loop of the user's own. Class EventLoop in <beeline/event_loop.h> says more:
 * the loop waits for beeline_fd(), calls beeline_poll() last before each wait, and fetches results
 * by token. */

#include <beeline/c/agent.h>
#include <beeline/c/hive.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Readable when something may have arrived. Do not read or close it. */
BEELINE_API int beeline_fd(beeline_agent* agent);

/** How much is there. Nothing of it was taken. */
typedef struct beeline_readiness {
  size_t size;
  size_t messages; /**< for beeline_receive() with the time 0 */
  size_t tasks;    /**< for beeline_next_task() */
  size_t answers;  /**< for beeline_next_answer() */
  size_t acks;     /**< for beeline_next_ack() */
  size_t events;   /**< for beeline_next_task_event() */
  size_t spaces;   /**< for beeline_next_space() */
  size_t peers;    /**< for beeline_next_peer() */
  size_t lists;    /**< for beeline_next_list() */
  bool notices;    /**< beeline_next_notice() has one */
  bool ended;      /**< the hive went down, or this life of the agent has ended */
  int64_t next_ns; /**< call beeline_poll() again within this time */
} beeline_readiness;
static inline void beeline_readiness_init(beeline_readiness* found) {
  memset(found, 0, sizeof *found);
  found->size = sizeof *found;
}

/** Takes what has come into the inbox and arms the descriptor. Never waits. Fills `found` up to
 * found->size. BEELINE_INVALID: the size. */
BEELINE_API beeline_code beeline_poll(beeline_agent* agent, beeline_readiness* found);

/** Sends a request and returns; beeline_next_answer() has the answer. */
BEELINE_API beeline_code beeline_request_start(beeline_agent* agent, beeline_peer peer,
                                               const void* payload, size_t length,
                                               int64_t timeout_ns,
                                               const beeline_send_options* options, beeline_id* id);
/** The next answer, or BEELINE_NOTHING. An answer that is an error is in answer->code, and
 * beeline_error_text() has its words. */
BEELINE_API beeline_code beeline_next_answer(beeline_agent* agent, beeline_answer* answer);
/** Gives up a request. False: none of this id is open. */
BEELINE_API bool beeline_forget(beeline_agent* agent, beeline_id request);

/** Looks for answers once, for a caller that spins for one before it sleeps. It does not arm the
 * descriptor, so nobody spends a system call on waking this agent; and it does none of the other
 * work of beeline_poll(): finding peers, listing agents, leaving.
 * BEELINE_CLOSED: the hive went down, or this life of the agent has ended. */
BEELINE_API beeline_code beeline_look_for_answers(beeline_agent* agent);

/** Sends with requires_ack and returns; beeline_next_ack() has the acknowledgement. */
BEELINE_API beeline_code beeline_send_acked_start(beeline_agent* agent, beeline_peer peer,
                                                  const void* payload, size_t length,
                                                  int64_t timeout_ns,
                                                  const beeline_send_options* options,
                                                  beeline_id* id);
/** The next acknowledgement, or BEELINE_NOTHING. As beeline_next_answer(). */
BEELINE_API beeline_code beeline_next_ack(beeline_agent* agent, beeline_ack* ack);

/** Names a call that was started, until its result is fetched. */
typedef uint64_t beeline_call;

/** Finds a peer in two steps; waits until the time is over for an agent that is not there yet. */
BEELINE_API beeline_code beeline_find_peer_start(beeline_agent* agent, const char* name,
                                                 size_t length, int64_t timeout_ns,
                                                 beeline_call* call);
/** The next result of it, or BEELINE_NOTHING. `code` has the error of the call, and
 * beeline_error_text() its words. */
BEELINE_API beeline_code beeline_next_peer(beeline_agent* agent, beeline_call* call,
                                           beeline_code* code, beeline_peer* peer);
/** Lists all agents of the hive in two steps. */
BEELINE_API beeline_code beeline_list_start(beeline_agent* agent, beeline_call* call);
/** As beeline_next_peer(); with `code` BEELINE_OK the list has to be freed. */
BEELINE_API beeline_code beeline_next_list(beeline_agent* agent, beeline_call* call,
                                           beeline_code* code, beeline_agents** agents);
/** Gives up such a call. False: there is none, or its result was fetched. */
BEELINE_API bool beeline_forget_call(beeline_agent* agent, beeline_call call);

/** After a send that found no room: asks to be told when another try may find some. */
BEELINE_API beeline_code beeline_want_space(beeline_agent* agent, beeline_peer peer, bool wanted);
/** The next peer of such a wish, or BEELINE_NOTHING. */
BEELINE_API beeline_code beeline_next_space(beeline_agent* agent, beeline_peer* peer);

/** beeline_detach() in two steps: beeline_poll() says `ended` when it is done. */
BEELINE_API void beeline_detach_start(beeline_agent* agent, int64_t drain_ns);
/** Its result, or BEELINE_NOTHING. */
BEELINE_API beeline_code beeline_left_behind(beeline_agent* agent, uint64_t* left);

#ifdef __cplusplus
}
#endif
