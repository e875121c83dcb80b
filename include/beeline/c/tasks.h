#pragma once

/* Tasks that a parent gives to its children. <beeline/task.h> says more. */

#include <beeline/c/agent.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Any bytes. */
typedef struct beeline_bytes {
  const void* data;
  size_t length;
} beeline_bytes;
/** A key and its value. */
typedef struct beeline_pair {
  beeline_bytes key;
  beeline_bytes value;
} beeline_pair;

/** A piece of work. The one of beeline_task_work() is valid as long as its handle. */
typedef struct beeline_work {
  size_t size;
  beeline_bytes id; /**< empty: the child sees the id of the message that carried the task */
  beeline_bytes description;
  beeline_bytes context;
  beeline_bytes parent_task;
  const beeline_pair* params;
  size_t param_count;
  int64_t timeout_ms;
  int32_t priority; /**< a rank */
} beeline_work;
static inline void beeline_work_init(beeline_work* work) {
  memset(work, 0, sizeof *work);
  work->size = sizeof *work;
  work->timeout_ms = 120000;
  work->priority = BEELINE_NORMAL;
}

/** The result of a task. */
typedef struct beeline_outcome {
  size_t size;
  int32_t exit_code;
  beeline_bytes output;
  const beeline_pair* artifacts;
  size_t artifact_count;
  const beeline_pair* metadata;
  size_t metadata_count;
} beeline_outcome;
static inline void beeline_outcome_init(beeline_outcome* outcome) {
  memset(outcome, 0, sizeof *outcome);
  outcome->size = sizeof *outcome;
}

/* For a parent. */

enum { BEELINE_EVENT_UPDATE = 0, BEELINE_EVENT_LOG = 1, BEELINE_EVENT_END = 2 };
/** A word of a child about a task, or the end of it. */
typedef struct beeline_event beeline_event;

/** Gives a task to a child and waits for its end. `event` is the end; free it. `*event` is null
 * unless the code is BEELINE_OK. */
BEELINE_API beeline_code beeline_execute(beeline_agent* agent, beeline_peer child,
                                         const beeline_work* work, int64_t timeout_ns,
                                         beeline_event** event);
/** Gives a task to a child and returns; beeline_next_task_event() has its reports and its end. To
 * give tasks to several children at once, start them all. */
BEELINE_API beeline_code beeline_execute_start(beeline_agent* agent, beeline_peer child,
                                               const beeline_work* work, int64_t timeout_ns,
                                               beeline_id* task);
/** Waits `timeout_ns` at most for the next event, in order. BEELINE_NOTHING: none has come. */
BEELINE_API beeline_code beeline_next_task_event(beeline_agent* agent, int64_t timeout_ns,
                                                 beeline_event** event);
/** Takes a task back. Its end still comes. False: no such task is open. */
BEELINE_API bool beeline_cancel_task(beeline_agent* agent, beeline_id task);

/** The task that it is about. */
BEELINE_API beeline_id beeline_event_task(const beeline_event* event);
BEELINE_API int32_t beeline_event_kind(const beeline_event* event);
/** BEELINE_OK for an end with a result, and for reports; else why there is no result. */
BEELINE_API beeline_code beeline_event_code(const beeline_event* event);
/** The text of a report, or of an error. Valid as long as the event. */
BEELINE_API const char* beeline_event_text(const beeline_event* event, size_t* length);
/** The result, valid as long as the event; null where there is none. */
BEELINE_API const beeline_outcome* beeline_event_outcome(const beeline_event* event);
BEELINE_API void beeline_event_free(beeline_event* event);

/* For a child. */

/** A task in the hands of the child. */
typedef struct beeline_task beeline_task;

/** Keeps tasks for beeline_next_task(); without it an agent refuses tasks at once. */
BEELINE_API void beeline_accept_tasks(beeline_agent* agent, bool wanted);
/** The next task that waits, after a wait of `timeout_ns` at most. BEELINE_NOTHING: none has come.
 */
BEELINE_API beeline_code beeline_next_task(beeline_agent* agent, int64_t timeout_ns,
                                           beeline_task** task);
BEELINE_API size_t beeline_tasks_waiting(const beeline_agent* agent);
/** Its description. Valid as long as the handle. */
BEELINE_API const beeline_work* beeline_task_work(const beeline_task* task);
/** The message that carried it; 0 once it has ended. */
BEELINE_API beeline_id beeline_task_id(const beeline_task* task);
/** The parent; 0 once it has ended. */
BEELINE_API beeline_pid beeline_task_from(const beeline_task* task);
/** True once nobody waits for the result. */
BEELINE_API bool beeline_task_is_cancelled(beeline_task* task);
/** Reports to the parent. `kind`: BEELINE_EVENT_UPDATE or BEELINE_EVENT_LOG. */
BEELINE_API beeline_code beeline_task_report(beeline_task* task, int32_t kind, const char* text,
                                             size_t length);
/** Ends it with a result. BEELINE_CLOSED: it has ended. */
BEELINE_API beeline_code beeline_task_finish(beeline_task* task, const beeline_outcome* outcome);
/** Ends it without a result. */
BEELINE_API beeline_code beeline_task_fail(beeline_task* task, const char* text, size_t length);
/** Frees the handle. A task that has not ended fails. */
BEELINE_API void beeline_task_free(beeline_task* task);

#ifdef __cplusplus
}
#endif
