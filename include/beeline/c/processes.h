#pragma once

/* Processes of a hive: an agent starts children, ends them and waits for their ends.
 * <beeline/processes.h> says more. Texts end with a zero byte. */

#include <beeline/c/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/** See SpawnOptions in <beeline/processes.h>. A text that is null has its default. */
typedef struct beeline_spawn_options {
  size_t size;
  const char* name;
  const char* const* command; /**< program and arguments */
  size_t command_count;
  const char* parent; /**< name or pid; null: the caller */
  const char* role;
  const char* tier;
  const char* model;
  const char* directory;
  const beeline_pair* environment; /**< an empty value removes a variable */
  size_t environment_count;
  const char* restart;     /**< "always", "on-failure", "notify" or "never" */
  const char* key;         /**< a second spawn with this key gets the first answer */
  int64_t ready_within_ns; /**< this one and the next: whole milliseconds count */
  int64_t grace_ns;
  uint64_t memory_bytes; /**< this limit and those below: 0 is none */
  uint64_t cpu_seconds;
  uint64_t open_files;
  uint64_t processes;
  uint64_t output_bytes;
  uint32_t max_children;
  uint32_t uid; /**< counts if `sets_uid` is true; else the user of the parent */
  bool sets_uid;
} beeline_spawn_options;
static inline void beeline_spawn_options_init(beeline_spawn_options* options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->ready_within_ns = INT64_C(10000000000);
  options->grace_ns = INT64_C(5000000000);
  options->output_bytes = 1 << 20;
  options->max_children = 10;
}

/** The end of a child. */
typedef struct beeline_exit {
  beeline_pid pid;
  int32_t exit_code; /**< -1: a signal ended it, or nobody knows */
  int32_t signal;    /**< that ended it; 0: none */
  bool known;        /**< false: the hive was restarted meanwhile and saw no end */
  const char* reason;
  const char* output; /**< the last lines of its output */
} beeline_exit;
BEELINE_API void beeline_exit_free(beeline_exit* end);

/** A child as the steward knows it. */
typedef struct beeline_process {
  beeline_pid pid;
  beeline_pid parent;
  const char* name;
  const char* role;
  const char* tier;
  const char* model;
  const char* state;   /**< "starting", "running", "sleeping", "restarting" or "ended" */
  const char* restart; /**< its policy */
  int32_t os_pid;
  uint64_t restarts;
  int64_t started_unix_ns;
  const char* log;         /**< path of the file with its output */
  const beeline_exit* end; /**< of its last life; null: it had no end. Belongs to the list */
} beeline_process;
/** The texts and items are valid until the list is freed. */
typedef struct beeline_processes {
  size_t count;
  const beeline_process* items;
} beeline_processes;
BEELINE_API void beeline_processes_free(beeline_processes* processes);

typedef struct beeline_pids {
  size_t count;
  const beeline_pid* items;
} beeline_pids;
BEELINE_API void beeline_pids_free(beeline_pids* pids);

/** Starts a child and returns once it has attached. `os_pid` may be null. */
BEELINE_API beeline_code beeline_spawn(beeline_agent* agent, const beeline_spawn_options* options,
                                       beeline_pid* pid, int32_t* os_pid);
/** Ends a child and all its descendants, the lowest first. `killed` may be null; it gets the pids
 * that were ended. Without `recursive` only a child without living children is ended. */
BEELINE_API beeline_code beeline_kill_child(beeline_agent* agent, beeline_peer child,
                                            bool recursive, beeline_pids** killed);
/** Waits for the end of a child. BEELINE_TIMEOUT: it has not ended. */
BEELINE_API beeline_code beeline_wait_child(beeline_agent* agent, beeline_peer child,
                                            int64_t timeout_ns, beeline_exit** end);
/** The children that the steward has started for this agent, or below it. */
BEELINE_API beeline_code beeline_list_processes(beeline_agent* agent, bool recursive,
                                                beeline_processes** processes);

/** Signals for a child. */
enum {
  BEELINE_SIGNAL_TERM = 0,
  BEELINE_SIGNAL_KILL = 1,
  BEELINE_SIGNAL_STOP = 2,
  BEELINE_SIGNAL_CONT = 3,
  BEELINE_SIGNAL_HUP = 4,
  BEELINE_SIGNAL_INT = 5,
  BEELINE_SIGNAL_USR1 = 6,
  BEELINE_SIGNAL_USR2 = 7
};
/** Sends one of these signals to the process of a child. `state` may be null; it gets the state of
 * the child afterwards, as in beeline_process, static. BEELINE_PEER_DEAD, here and in the next two
 * calls: it has ended, and no signal brings it back. */
BEELINE_API beeline_code beeline_signal_child(beeline_agent* agent, beeline_peer child,
                                              int32_t signal, const char** state);
/** Stops the process of a child: its messages wait. Does nothing if it sleeps. */
BEELINE_API beeline_code beeline_sleep_child(beeline_agent* agent, beeline_peer child,
                                             const char** state);
/** Lets a sleeping child run on. BEELINE_INVALID: it does not sleep. */
BEELINE_API beeline_code beeline_wake_child(beeline_agent* agent, beeline_peer child,
                                            const char** state);

#ifdef __cplusplus
}
#endif
