/* A link is opened to an agent that is just being replaced: attach(), commit(), ready()
   (src/control/lives.cc), open_link(), announce_link(), announce_in_links() (src/control/links.cc),
   resume() (src/control/resume.cc), restore() (src/control/restore.cc); AgentCore::attach(),
   take_over(), await_links(), inherit_link() (src/agent/inheritance.cc), accept_link(), handle()
   (src/agent/arrivals.cc), register_again() (src/agent/registration.cc).

   Modelled    agent 0 opens a link and sends MESSAGES messages in it. Agent 1 attaches, takes them,
               is killed and replaced. A successor awaits the links that it is promised, begins each
               where its predecessor's home says, and takes nothing before it is committed. The
               keeper has the link, and the life that was last ready.
   Abstracted  memory is sequentially consistent; the lane never is full and nobody sleeps (space.pml,
               wake.pml); routing says yes; handover.pml has the other parts of a successor's copy
               besides the cursor. A connection that is known to be closed is tried again until it is
               answered.
   Faults      kill of agent 1 at any step, KILLS times; kill of the coordinator at any step, RESTARTS
               times, with its unread packets lost or not.
   Invariants  the link of an opener that was answered is in the keeper. Each message is taken once,
               in its order, by any life. At the end everything is sent and taken.

   Exhaustive: 2,852,253 states; with -DKILLS=2 -DRESTARTS=0 171,360. */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif

/* An attach that loses its coordinator begins again, as another life. */
#define LIVES (KILLS + RESTARTS + 2)

mtype = { OPEN, AGAIN, ATTACH, READY, RESUME };

byte king;                 /* the life of the coordinator, also of its directory */
chan requests[RESTARTS + 1] = [KILLS + 2] of { byte, mtype, byte, byte };  /* agent, request, connection, life */
chan answers[2] = [1] of { byte, byte, bit };                      /* life, its predecessor, links */
chan announced[LIVES] = [3] of { bit };

/* The keeper's table; the registry of a coordinator is made from it. */
bool kept_link;
byte kept_ready;           /* the life that was ready last, 0: none */
bool known_link;
byte committed;            /* the life that the directory word names */
byte heard[2];             /* the life of agent i that has a session, 0: none */
byte last_life;

byte session[2];           /* the coordinator that agent i talks to */
byte connection;           /* of agent 1: one for each process and each attempt to attach */
bool placed;               /* OutLink::place */
byte published;

bool row[LIVES];           /* the life knows the link */
byte cursor[LIVES];        /* in its home */
byte taken;                /* only the model has this */

bool kill_reader, kill_king;

#define LOST(i) (session[i] != king)

/* Client::call(): ends with the answer, or with the connection. */
inline call(me, request, which, life) {
  if
  :: LOST(me) -> answered = false
  :: !LOST(me) ->
     requests[session[me]] ! me, request, which, life;
     if
     :: answers[me] ? got_life, got_before, got_links -> answered = true
     :: LOST(me) && empty(answers[me]) -> answered = false
     fi
  fi
}

active proctype opener() {
  byte got_life, got_before;
  bit got_links;
  bool answered, created;
  do
  :: LOST(0) ->
     atomic { session[0] = king; placed = false };
     call(0, RESUME, 0, 1);
     if
     :: answered && created -> call(0, AGAIN, 0, 1); placed = answered
     :: else
     fi
  :: published < MESSAGES && !placed && !LOST(0) ->
     if
     :: !created -> created = true; call(0, OPEN, 0, 1)
     :: else -> call(0, AGAIN, 0, 1)
     fi;
     atomic { placed = answered; assert(!answered || kept_link) }
  :: published < MESSAGES && placed -> published++
  :: published == MESSAGES && !LOST(0) -> break
  od
}

active proctype reader() {
  byte life, got_life, got_before;
  bit got_links;
  bool answered;
again:
  {
    /* attach(), with a connection of its own */
    atomic {
      session[1] = king;
      connection++;
      life = 0; got_life = 0; got_before = 0; got_links = 0;
      do :: answers[1] ? _, _, _ :: empty(answers[1]) -> break od
    };
    call(1, ATTACH, connection, 0);
    if
    :: !answered -> goto again
    :: answered -> life = got_life
    fi;
#ifndef MUTANT_LINKS_NOT_AWAITED
    /* await_links(), inherit_link() */
    if
    :: got_links ->
       if
       :: announced[life] ? _ ->
          atomic {
            row[life] = true;
#ifndef MUTANT_FROM_THE_START
            if :: got_before != 0 -> cursor[life] = cursor[got_before] :: else fi
#endif
          }
       :: LOST(1) && empty(announced[life]) -> goto again
       fi
    :: else
    fi;
#endif
#ifndef MUTANT_TAKE_BEFORE_READY
    call(1, READY, connection, life);
    if
    :: !answered -> goto again
    :: answered
    fi;
#endif
end_serve:
    do
    :: LOST(1) -> session[1] = king; call(1, RESUME, connection, life)
       /* Arrivals::handle(): a link that is known keeps its row. */
    :: announced[life] ? _ ->
#ifdef MUTANT_ROW_TWICE
       atomic { row[life] = true; cursor[life] = 0 }
#else
       row[life] = true
#endif
    :: row[life] && published > cursor[life] ->
       atomic { cursor[life]++; taken++; assert(taken == cursor[life]) }
    od
  } unless { kill_reader };
  kill_reader = false;
  goto again
}

/* To the life that has a session; nobody reads it for a process that has ended. */
inline announce(life) {
  if
  :: atomic { life != 0 && nfull(announced[life]) -> announced[life] ! 1 }
  :: life == 0 || full(announced[life])
  fi
}

/* A connection that was given up takes no answer. */
inline answer(life, before, links) {
  if
  :: atomic { who == 0 || which == connection -> answers[who] ! life, before, links }
  :: who == 1 && which != connection
  fi
}

/* commit() */
inline commit(life) {
#ifdef MUTANT_WORD_BEFORE_KEEPER
  committed = life;
  answer(life, 0, 0);
  kept_ready = life
#else
  kept_ready = life;
  committed = life;
  answer(life, 0, 0)
#endif
}

active proctype coordinator() {
  byte who, which, life;
  mtype what;
  bool was_known;
end_again:
  {
end_wait:
    do
    :: requests[king] ? who, what, which, life ->
       if
       :: what == ATTACH ->
          /* If the connection of a request was closed meanwhile, its agent is not there any more. */
          if
          :: atomic { which == connection -> last_life++; heard[1] = last_life };
#ifdef MUTANT_UNREADY_PREDECESSOR
             answer(last_life, last_life - 1, known_link);
#else
             answer(last_life, committed, known_link);
#endif
             if
             :: known_link -> announce(last_life)
             :: else
             fi
          :: atomic { which != connection }
          fi
       :: what == READY -> commit(life)
       :: what == RESUME && who == 1 ->
          heard[1] = life;
          if
          :: committed != life -> commit(life)
          :: else -> answer(life, 0, 0)
          fi;
#ifndef MUTANT_NO_ANNOUNCE_ON_RESUME
          if
          :: known_link -> announce(life)
          :: else
          fi
#endif
       :: what == RESUME && who == 0 -> answer(0, 0, 0)
       :: what == OPEN || what == AGAIN ->
          was_known = known_link;
#ifdef MUTANT_ANSWER_BEFORE_KEEPER
          answer(0, 0, 0);
#endif
          if
          :: !was_known -> kept_link = true; known_link = true
          :: else
          fi;
          if
#ifdef MUTANT_CURRENT_LIFE_ALONE
          :: heard[1] == committed && (!was_known || what == OPEN) -> announce(heard[1])
#else
          :: !was_known || what == OPEN -> announce(heard[1])
#endif
          :: else
          fi;
#ifndef MUTANT_ANSWER_BEFORE_KEEPER
          answer(0, 0, 0)
#endif
       fi;
       atomic { who = 0; which = 0; life = 0; what = 0; was_known = false }
    od
  } unless { kill_king };
  /* Its queued packets may be lost with the connection, or not. */
  atomic { who = 0; which = 0; life = 0; what = 0; was_known = false; kill_king = false };
  do
  :: answers[0] ? _, _, _
  :: answers[1] ? _, _, _
  :: atomic { heard[1] != 0 && nempty(announced[heard[1]]) -> announced[heard[1]] ? _ }
  :: break
  od;
  /* restore() */
  atomic {
    king++;
    heard[1] = 0;
    known_link = kept_link;
    committed = kept_ready
  };
  goto end_again
}

active proctype killer() {
  byte kills, kings;
  do
  :: kills < KILLS && !kill_reader -> kill_reader = true; kills++
  :: kings < RESTARTS && !kill_king -> kill_king = true; kings++
  :: break
  od
}

active proctype judge() {
  timeout;
  assert(published == MESSAGES);
  assert(taken == published)
}
