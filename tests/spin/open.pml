/* Opening a link: LinkOpener::open_link(), ask_open(), accept_link(), connect_receipts()
   (src/agent/arrivals.cc), resume(), register_again(), place_links() (src/agent/registration.cc);
   open_link(), announce_link(), announce_in_links() (src/control/links.cc), resume()
   (src/control/resume.cc), restore() (src/control/restore.cc), end_life() (src/control/death.cc).

   Modelled    agent 0 opens a link to agent 1 and sends MESSAGES messages in it, one slot wide. Agent
               1 opens a link back, in which its receipts lie; only they let agent 0 send on. The
               coordinator answers, announces and rings; the keeper has all records that it got. Both
               agents sleep when there is nothing to do. After a restart they find their connection
               closed, resume, and open their links again.
   Abstracted  memory is sequentially consistent (the races are in wake.pml and space.pml); routing
               says yes; hand-over of the reader (handover.pml). A connection that is known to be
               closed is tried again until it is answered: that is a poll in the code, never a ring.
   No time     nothing else ends a block but a ring.
   Faults      kill of the coordinator at any step, RESTARTS times, with its unread packets lost or
               not; kill of agent 0 at any step.
   Invariants  the keeper has each link if its opener was answered. A link has one segment, one row at
               its reader, and each message in it is taken once. At the end a living sender has sent
               everything, and all published messages are taken.

   Exhaustive: 3,218,019 states. */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif

mtype = { OPEN, AGAIN, RESUME };

byte king;                 /* the life of the coordinator, also of its directory */
chan requests[RESTARTS + 1] = [2] of { byte, mtype };
chan answers[2] = [1] of { bit };
chan announced[2] = [3] of { bit };  /* of the link that leads to this agent */
bool keeper[2];            /* has the link of agent i */
bool known[2];             /* the coordinator's registry */
bool connected[2];         /* the coordinator knows a session of agent i */
bool gone[RESTARTS + 1];   /* directory word of agent 0 */
bool ended_in_keeper;

byte session[2];           /* the coordinator that agent i talks to */
bool asleep[2], token[2];
bool created[2];           /* the segment of its own link */
bool placed[2];            /* OutLink::place */
bool row[2];               /* the in-link is known */
bool bank;                 /* agent 1 has one for its in-link */
byte published;            /* in the link of agent 0 */
byte cursor;               /* of agent 1, in its home */
byte receipt;              /* of agent 1, in its own link */
byte times_taken;

bool kill_zero, kill_king, zero_is_dead;

inline ring(sleeper) {
  if
  :: asleep[sleeper] -> token[sleeper] = true
  :: else
  fi
}

#define LOST (session[me] != king)
#define OWNER_GONE (gone[session[1]])
#define CAN_TAKE (me == 1 && row[1] && published > cursor && (bank || OWNER_GONE))
#define HAS_SPACE (published == 0 || (row[0] && bank && receipt == published))
#define CAN_SEND (me == 0 && published < MESSAGES && (!placed[0] || HAS_SPACE))
#ifdef MUTANT_NO_OWN_LINK
#define CAN_CONNECT (me == 1 && row[1] && !bank && placed[1])
#else
#define CAN_CONNECT (me == 1 && row[1] && !bank && !OWNER_GONE)
#endif
#ifdef MUTANT_NO_CONTROL_LOOK
#define LAST_LOOK (CAN_TAKE || CAN_SEND || CAN_CONNECT)
#else
#define LAST_LOOK (LOST || len(announced[me]) > 0 || CAN_TAKE || CAN_SEND || CAN_CONNECT)
#endif

/* Client::call(): ends with the answer, or with the connection. */
inline call(request) {
  if
  :: LOST
  :: !LOST ->
     requests[session[me]] ! me, request;
     if
     :: answers[me] ? _ -> answered = true
     :: LOST && empty(answers[me])
     fi
  fi
}

inline ask_open(how) {
  atomic { answered = false; created[me] = true };
  call(how);
  if
  :: atomic { answered -> placed[me] = true; assert(keeper[me]) }
  :: !answered
  fi
}

/* resume(), register_again(). */
inline resume() {
  atomic { session[me] = king; placed[me] = false; answered = false };
  call(RESUME);
  if
  :: answered && created[me] -> ask_open(AGAIN)  /* place_links() */
  :: else
  fi
}

proctype agent(byte me) {
  bool answered;
  {
    do
    :: LOST -> resume()
       /* Arrivals::handle(): a link that is known keeps its row. */
    :: atomic {
         announced[me] ? _ ->
#ifdef MUTANT_ROW_TWICE
         row[me] = true;
         if :: me == 1 -> cursor = 0 :: else fi
#else
         row[me] = true
#endif
       }
    :: CAN_CONNECT ->
       /* connect_receipts() */
       if
       :: !placed[1] && !LOST ->
          if
          :: !created[1] -> ask_open(OPEN)
          :: else -> ask_open(AGAIN)
          fi
       :: !placed[1] && LOST
       :: placed[1] -> atomic { receipt = cursor; bank = true }; ring(0)
       fi
    :: CAN_TAKE ->
       /* Drain::drain(): the home, then the receipt, then the sender that waits for space. */
       atomic { cursor++; times_taken++; assert(times_taken == cursor) };
       if
       :: bank -> receipt = cursor; ring(0)
       :: !bank
       fi
    :: CAN_SEND ->
       if
       :: !placed[0] && !created[0] -> ask_open(OPEN)
       :: !placed[0] && created[0] -> ask_open(AGAIN)
       :: placed[0] -> published++; ring(1)  /* SendPath::publish() */
       fi
    :: !LOST && len(announced[me]) == 0 && !CAN_TAKE && !CAN_SEND && !CAN_CONNECT ->
       asleep[me] = true;
       if
       :: LAST_LOOK
       :: !(LAST_LOOK) ->
end_asleep:
          atomic { token[me] -> token[me] = false }
       fi;
       asleep[me] = false
    od
  } unless { me == 0 && kill_zero };
  zero_is_dead = true
}

/* Hive::announce(), to a life that has a session. */
inline announce(reader) {
  if
  :: connected[reader] -> announced[reader] ! 1;
#ifndef MUTANT_NO_RING_AFTER_ANNOUNCE
     ring(reader)
#endif
  :: !connected[reader]
  fi
}

inline answer() {
  if
  :: atomic { who == 0 && zero_is_dead }
  :: else -> answers[who] ! 1
  fi
}

active proctype coordinator() {
  byte who;
  mtype what;
  bool was_known;
end_again:
  {
end_serve:
    do
    :: requests[king] ? who, what ->
       if
       :: what == RESUME ->
          connected[who] = true;
          answer();
#ifndef MUTANT_NO_ANNOUNCE_ON_RESUME
          /* announce_in_links() */
          if
          :: known[1 - who] -> announce(who)
          :: else
          fi
#endif
       :: else ->
          /* open_link() */
          was_known = known[who];
#ifdef MUTANT_ANSWER_BEFORE_KEEPER
          answer();
#endif
          if
#ifdef MUTANT_AGAIN_IS_NOT_KEPT
          :: !was_known && what == AGAIN
          :: !was_known && what != AGAIN -> keeper[who] = true; known[who] = true
#else
          :: !was_known -> keeper[who] = true; known[who] = true
#endif
          :: else
          fi;
          if
          :: !was_known || what == OPEN -> announce(1 - who)
          :: else
          fi;
#ifndef MUTANT_ANSWER_BEFORE_KEEPER
          answer()
#endif
       fi;
       atomic { who = 0; what = 0; was_known = false }
    :: atomic { zero_is_dead && !ended_in_keeper -> ended_in_keeper = true };
       gone[king] = true;
       ring(1)
    od
  } unless { kill_king };
  /* Its queued packets may be lost with the connection, or not. */
  atomic { who = 0; what = 0; was_known = false; kill_king = false };
  do :: announced[0] ? _ :: announced[1] ? _ :: answers[0] ? _ :: answers[1] ? _ :: break od;
  /* restore() */
  atomic {
    king++;
    connected[0] = false;
    connected[1] = false;
    known[0] = keeper[0];
    known[1] = keeper[1];
    gone[king] = ended_in_keeper
  };
#ifndef MUTANT_NO_RING_ON_RESTORE
  ring(0);
  ring(1);
#endif
  goto end_again
}

active proctype killer() {
  byte kings;
  do
  :: !kill_zero -> kill_zero = true
  :: kings < RESTARTS && !kill_king -> kill_king = true; kings++
  :: break
  od
}

active proctype judge() {
  timeout;
  assert(zero_is_dead || published == MESSAGES);
  assert(cursor == published)
}

init {
  atomic {
    connected[0] = true;
    connected[1] = true;
    run agent(0);
    run agent(1)
  }
}
