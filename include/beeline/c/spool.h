#pragma once

/* A task folder: tasks as files, claimed by renames. It needs no hive. <beeline/spool.h> says more.
 *
 * Tasks, results and errors cross as JSON texts in the form of their files. JSON texts end with a
 * zero byte and have none in them. One thread uses a spool and its claims at a time. A claim that
 * outlives its spool is dead: its functions return BEELINE_SPOOL_TASK_NOT_FOUND or nothing. */

#include <beeline/c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call of this header. The numbers never change. For any other than
 * BEELINE_SPOOL_OK, beeline_error_text() has the words. */
typedef int32_t beeline_spool_code;
enum {
  BEELINE_SPOOL_OK = 0,
  BEELINE_SPOOL_MAILBOX_DIR = 1,      /**< the folder, its disk or its rights */
  BEELINE_SPOOL_TASK_EXISTS = 2,      /**< a task of this id waits or is being worked on */
  BEELINE_SPOOL_NO_TASKS = 3,         /**< no task waits, or none came in the time given */
  BEELINE_SPOOL_TASK_NOT_FOUND = 4,   /**< no task of this id, or another worker has it */
  BEELINE_SPOOL_INVALID_TASK = 5,     /**< the JSON, a value in it, or the id cannot be used */
  BEELINE_SPOOL_INVALID_ARGUMENT = 6, /**< another argument that the caller can correct */
  BEELINE_SPOOL_NO_MEMORY = 7         /**< the system gave no memory */
};
/** The word for a code, for example "ErrNoTasks". Static. */
BEELINE_API const char* beeline_spool_code_name(beeline_spool_code code);

enum { BEELINE_SYNC_NONE = 0, BEELINE_SYNC_DATA = 1, BEELINE_SYNC_FULL = 2 };
enum { BEELINE_CLAIM_PRIORITY = 0, BEELINE_CLAIM_FIFO = 1 };
enum {
  BEELINE_FOLDER_INBOX = 0,
  BEELINE_FOLDER_PROCESSING = 1,
  BEELINE_FOLDER_OUTBOX = 2,
  BEELINE_FOLDER_FAILED = 3
};

/** See Options in <beeline/spool.h>. Texts end with a zero byte. */
typedef struct beeline_spool_options {
  size_t size;
  const char* dir;               /**< null: $DROVER_MAILBOX_DIR, or /tmp/drover/mailbox */
  const char* worker;            /**< null: "HOST:PID" */
  int32_t sync;                  /**< BEELINE_SYNC_NONE and so on */
  int32_t order;                 /**< BEELINE_CLAIM_PRIORITY or BEELINE_CLAIM_FIFO */
  int32_t process;               /**< that the claims belong to; 0: this one, -1: none */
  bool shared;                   /**< processes of other hosts use the folder */
  bool read_only;                /**< for lists, without the right to write; nothing is made */
  int64_t poll_every_ns;         /**< at least a millisecond */
  int64_t heartbeat_patience_ns; /**< this one and those below: whole seconds count */
  int64_t outbox_retention_ns;   /**< negative: that of the environment */
  int64_t failed_retention_ns;   /**< likewise */
  int64_t temp_retention_ns;
} beeline_spool_options;
static inline void beeline_spool_options_init(beeline_spool_options* options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->poll_every_ns = INT64_C(1000000000);
  options->heartbeat_patience_ns = INT64_C(900000000000);
  options->outbox_retention_ns = -1;
  options->failed_retention_ns = -1;
  options->temp_retention_ns = INT64_C(3600000000000);
}

/** A task folder. */
typedef struct beeline_spool beeline_spool;
/** A task that this process works on. End it with complete, fail or retry. */
typedef struct beeline_claim beeline_claim;

/* A text that a function of a spool gives through a pointer is valid until the next call with the
 * spool. `*claim` and `*text` are null unless the code is BEELINE_SPOOL_OK. */

/** Opens a folder, and makes it if it is not there. */
BEELINE_API beeline_spool_code beeline_spool_open(const beeline_spool_options* options,
                                                  beeline_spool** spool);
/** Claims that have not ended, and were not kept, are put back as beeline_claim_free() does. */
BEELINE_API void beeline_spool_close(beeline_spool* spool);
/** The options with all defaults filled in, as JSON: `dir`, `worker`, `sync`, `order`, `shared`,
 * `process`, times as `poll_every_ms` and `heartbeat_patience_s` for example, and `enabled`, which
 * is the variable DROVER_MAILBOX_ENABLED. */
BEELINE_API beeline_spool_code beeline_spool_describe(beeline_spool* spool, const char** text);

/** Writes a task to inbox/. Keys that are missing have their defaults; without an id it gets one.
 * `id` may be null; it gets the id. */
BEELINE_API beeline_spool_code beeline_spool_put(beeline_spool* spool, const char* task,
                                                 size_t length, const char** id);
/** Claims the next task, after a wait of `timeout_ns` at most. */
BEELINE_API beeline_spool_code beeline_spool_claim(beeline_spool* spool, int64_t timeout_ns,
                                                   beeline_claim** claim);
/** The claim of this worker on a task, whatever process made it. */
BEELINE_API beeline_spool_code beeline_spool_held(beeline_spool* spool, const char* id,
                                                  size_t length, beeline_claim** claim);
/** Makes all claims of this worker those of this process. The text is a JSON list of their ids, for
 * beeline_spool_held(). */
BEELINE_API beeline_spool_code beeline_spool_take_over(beeline_spool* spool, const char** text);

/** The files of a folder, as a JSON list of objects. Each has `id`, `folder`, `changed_at`, and one
 * of `task`, `completion`, `error`, `problem`. */
BEELINE_API beeline_spool_code beeline_spool_list(beeline_spool* spool, int32_t folder,
                                                  const char** text);
/** Such an object: the task of an id where it is now. */
BEELINE_API beeline_spool_code beeline_spool_find(beeline_spool* spool, const char* id,
                                                  size_t length, const char** text);
/** Takes back claims of ended processes and removes old files. The text is a JSON object: the ids
 * in `recovered`, `exhausted` and `finished`; the numbers of removed `results`, `errors` and
 * `temps`. */
BEELINE_API beeline_spool_code beeline_spool_sweep(beeline_spool* spool, const char** text);

/** Readable when a task may have come, or a process with a claim has ended; -1: the kernel has none
 * for us now. Do not read or close it. Call beeline_spool_claim() with the time 0 until it says
 * BEELINE_SPOOL_NO_TASKS, then wait for it, and look again after `poll_every_ns`. */
BEELINE_API int beeline_spool_fd(beeline_spool* spool);
/** The next remark about a file that was left alone or moved to failed/; null: there is none. Valid
 * until the next call of this function for this spool. */
BEELINE_API const char* beeline_spool_next_remark(beeline_spool* spool);

/** False after it was ended or kept, and for a dead one. The other facts stay readable. */
BEELINE_API bool beeline_claim_is_held(const beeline_claim* claim);
/** Valid as long as the claim. */
BEELINE_API const char* beeline_claim_id(const beeline_claim* claim);
/** The task, as its file in processing/ has it. Valid until the next call with the claim. */
BEELINE_API const char* beeline_claim_json(beeline_claim* claim);
/** The text that beeline_claim_write_note() has kept with the claim. Valid as the task is. `length`
 * may be null. */
BEELINE_API const char* beeline_claim_note(beeline_claim* claim, size_t* length);
BEELINE_API beeline_spool_code beeline_claim_write_note(beeline_claim* claim, const char* note,
                                                        size_t length);
/** Writes a result to outbox/ and ends the claim. Keys that are missing have their defaults, and
 * null is a result without any. */
BEELINE_API beeline_spool_code beeline_claim_complete(beeline_claim* claim, const char* completion,
                                                      size_t length);
/** Writes an error to failed/ and ends the task for good. */
BEELINE_API beeline_spool_code beeline_claim_fail(beeline_claim* claim, const char* error,
                                                  size_t length);
/** Puts the task back into inbox/, or fails it if its attempts are used up. `waits` may be null;
 * true: it waits again. */
BEELINE_API beeline_spool_code beeline_claim_retry(beeline_claim* claim, const char* error,
                                                   size_t length, bool* waits);
/** Says that the worker lives, in a folder that other hosts share. */
BEELINE_API beeline_spool_code beeline_claim_heartbeat(beeline_claim* claim);
/** Lets go of the claim, which stays: beeline_spool_held() finds it again. */
BEELINE_API void beeline_claim_keep(beeline_claim* claim);
/** Frees the handle. A claim that has not ended, and was not kept, is put back. */
BEELINE_API void beeline_claim_free(beeline_claim* claim);

/** Tells of files that come and go. It belongs to one thread, and to no spool. */
typedef struct beeline_spool_watch beeline_spool_watch;
typedef struct beeline_spool_change {
  const char* id; /**< valid until the next call; empty: changes were lost */
  int32_t folder;
  bool came; /**< false: it left this folder */
} beeline_spool_change;
/** Watches the folder of the options. */
BEELINE_API beeline_spool_code beeline_spool_watch_open(const beeline_spool_options* options,
                                                        beeline_spool_watch** watch);
/** Readable when beeline_spool_watch_next() has something. */
BEELINE_API int beeline_spool_watch_fd(const beeline_spool_watch* watch);
/** The next change, in order; does not wait. False: there is none. */
BEELINE_API bool beeline_spool_watch_next(beeline_spool_watch* watch, beeline_spool_change* change);
BEELINE_API void beeline_spool_watch_free(beeline_spool_watch* watch);

#ifdef __cplusplus
}
#endif
