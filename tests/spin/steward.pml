/* Keeper, coordinator and steward die and are restarted in every order, while an agent asks pid 1
   for a child: StewardProcess (src/control/steward_process.cc), reserve(), agent_of_ticket(),
   end_hive() (src/control/king.cc), Launcher, Nursery and Settlement (src/steward).

   Modelled    one request for one child. The steward commits the intent, reserves the agent, forks
               the child, which waits, gives its pidfd to the keeper, commits the process, releases
               it, sees it ready or ended, commits the answer and ends the request. The child
               attaches with its ticket and ends at any step. Steward and coordinator are killed at
               any step, KILLS times each. The keeper may be killed at any step: that ends the hive.
   Abstracted  the inbox of pid 1 is a lease: the request comes again until it is ended (see
               handover.pml). A commit is one step. The reservation lies in the keeper's table before
               it is answered. A coordinator that is gone answers nothing.
   Invariants  the program of the child runs at most once; the request is answered once, and not
               before the child was ready or has ended; if the keeper lives, the end of the child is
               on record in the end, and the keeper holds nothing any more; no child outlives the
               hive; no state is without a next one.

   Exhaustive: 5,950 states; 2,590 if the keeper lives. */

#ifndef KILLS
#define KILLS 2
#endif

/* steward.db: how far the request is. */
#define NONE 0
#define INTENT 1
#define STARTED 2
#define ANSWERED 3
byte store;
bool end_on_record;

/* The child's process. */
#define UNBORN 0
#define WAITING 1  /* forked, waits for its release */
#define RUNNING 2
#define ENDED 3    /* not reaped */
#define REAPED 4
byte child;
bool orphan;       /* the steward that has forked it is dead */
bool ready;        /* it has attached once */

/* The keeper: processes that live, and what it holds of the child. */
bool steward = true, coordinator = true, hive = true;
byte steward_kills, coordinator_kills;
bool held, end_held;

/* In the keeper's table. */
bool reserved, ticket;

bool request = true;  /* lies in the inbox of pid 1 */

/* Only the model has these. */
byte starts, answers;

#define DONE (!request && end_on_record && child == REAPED && !held && !end_held)
#define STEP steward && hive

active proctype Keeper() {
  do
  :: atomic { hive && !coordinator -> coordinator = true }
  :: atomic { hive && !steward -> steward = true }
  /* It adopts the children of a dead steward, and keeps the ends of those that it holds. */
  :: atomic { hive && orphan && child == ENDED -> child = REAPED; end_held = held }
  :: atomic { hive && steward && steward_kills < KILLS ->
       steward_kills++; steward = false; orphan = orphan || (child != UNBORN && child != REAPED);
       /* Its pipe tells the child that nobody will release it. */
       if
       :: child == WAITING -> child = ENDED
       :: else
       fi }
  :: atomic { hive && coordinator && coordinator_kills < KILLS ->
       coordinator_kills++; coordinator = false }
#ifndef KEEPER_LIVES
  :: atomic { hive ->
       hive = false; coordinator = false; steward = false;
#ifndef MUTANT_CHILDREN_OUTLIVE_THE_HIVE
       /* The steward sees the end of its socket, and ends all that it has started. */
       if
       :: child != UNBORN -> child = REAPED
       :: else
       fi;
#endif
       assert(child != WAITING && child != RUNNING);
       break }
#endif
  :: DONE -> break
  od
}

active proctype Steward() {
  do
  :: atomic { STEP && request && store == NONE -> store = INTENT }
  :: atomic { STEP && store == INTENT && !reserved && coordinator -> reserved = true; ticket = true }
  :: atomic { STEP && store == INTENT && reserved && child == UNBORN -> child = WAITING }
#ifndef MUTANT_NOT_HELD
  :: atomic { STEP && store == INTENT && child == WAITING && !held -> held = true }
#endif
#ifdef MUTANT_NOT_HELD
  :: atomic { STEP && store == INTENT && child == WAITING -> store = STARTED }
#else
#ifdef MUTANT_RELEASED_BEFORE_THE_COMMIT
  :: atomic { STEP && store == INTENT && child == WAITING && held ->
       child = RUNNING; starts++; assert(starts <= 1) }
  :: atomic { STEP && store == INTENT && child == RUNNING && !orphan -> store = STARTED }
#else
  :: atomic { STEP && store == INTENT && child == WAITING && held -> store = STARTED }
#endif
#endif
  :: atomic { STEP && store == STARTED && child == WAITING ->
       child = RUNNING; starts++; assert(starts <= 1) }

  /* An earlier life has left an intent: nothing of it ran, so the request begins anew. */
  :: atomic { STEP && store == INTENT && orphan && child == REAPED ->
       store = NONE; reserved = false; ticket = false; child = UNBORN; orphan = false;
       held = false; end_held = false }
#ifdef MUTANT_RELEASED_BEFORE_THE_COMMIT
  :: atomic { STEP && store == INTENT && orphan && child == RUNNING ->
       store = NONE; reserved = false; ticket = false; child = UNBORN; orphan = false;
       held = false; end_held = false }
#endif

  :: atomic { STEP && store == STARTED && (ready || end_on_record) -> store = ANSWERED }
  :: atomic { STEP && store == ANSWERED && request ->
       request = false; answers++; assert(answers <= 1 && (ready || end_on_record)) }

#ifdef MUTANT_REAPED_BEFORE_THE_COMMIT
  :: atomic { STEP && !orphan && store >= STARTED && child == ENDED -> child = REAPED; orphan = false }
  :: atomic { STEP && !orphan && store >= STARTED && child == REAPED && !end_on_record &&
              steward_kills == 0 -> end_on_record = true }
  :: atomic { STEP && !orphan && child == REAPED && end_on_record && held -> held = false }
#else
  :: atomic { STEP && !orphan && store >= STARTED && child == ENDED && !end_on_record ->
       end_on_record = true }
  :: atomic { STEP && !orphan && child == ENDED && end_on_record -> child = REAPED; held = false }
#endif
  /* The keeper has reaped it. */
  :: atomic { STEP && store >= STARTED && end_held && !end_on_record -> end_on_record = true }
  :: atomic { STEP && end_held && end_on_record -> end_held = false; held = false }
  :: atomic { !hive || DONE -> break }
  od
}

active proctype Child() {
  do
  :: atomic { child == RUNNING && ticket && coordinator -> ticket = false; ready = true }
  :: atomic { child == RUNNING -> child = ENDED }
  :: atomic { !hive || DONE -> break }
  od
}
