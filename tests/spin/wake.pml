/* The waking protocol: src/wake/bell.h and waiter.h, SendPath::publish() (src/send/send_path.cc),
   Sleeper::last_look(), arm() and disarm() (src/agent/sleeper.cc), Hive::announce(), ring() and
   end_life() (src/control/hive.cc, death.cc), restore() (src/control/restore.cc).

   Modelled    a sender, a sleeper, the coordinator and one restart of it. Each process has the store
               buffer of x86-TSO: first in, first out, emptied by a full fence and by the system
               calls that wake or block. The sleeper waits inside of the library (first block on the
               futex, later ones on the eventfd) or outside of it on its fd.
   Abstracted  a lane is a count of published messages; the contents of messages, the spin before
               a block and the life in the directory word are not there (see handover.pml).
               A sleep that a waker has ended is not rung again by it; the code rings one on the
               eventfd again after 10 ms, which only adds rings.
   No time     nothing ends a block but a ring. So the tries of ring() on the futex have no bound.
               -DSHORT_FIRST_BLOCK is the code as it is, where ring() gives up after kRingTries and
               the first block ends by itself; all later blocks have no bound in the model.
   Faults      kill of the sender at any step, kill of the coordinator at any step.
   Invariant   when nothing can move any more, no published message, no packet on the control socket
               and no changed directory word is unseen by the sleeper.

   Exhaustive: 8,584,071 states; with -DSHORT_FIRST_BLOCK -DMESSAGES=1 5,829,769. */

#define AWAKE 0
#define FUTEX 1
#define EVENT 2

#ifndef MESSAGES
#define MESSAGES 2
#endif

#ifdef MUTANT_NO_CONTROL_LOOK
#define LOOK_AT_SOCKET false
#else
#define LOOK_AT_SOCKET true
#endif

/* Visible to everybody. */
byte lane;         /* slots published */
bool gone;         /* directory word of the sender: its life has ended */
byte sleep_word;   /* StatusPage::sleep of the sleeper: how, and the number of the sleep times 4 */
byte packets;      /* unread on the control socket of the sleeper; the kernel's, so never buffered */
bool token;        /* in its eventfd */
bool in_futex;     /* it is queued in FUTEX_WAIT */

/* Store buffers: stores of a process that nobody else sees yet. */
chan of_sender = [2] of { byte };
chan of_sleeper = [2] of { byte };
chan of_king = [1] of { bool };

bool kill_sender, kill_king;
bool dead;             /* its pidfd is readable */
bool ended_in_keeper;  /* keep_life() with `ended` */
bool announced;

byte its_word, its_rung;  /* the sender's: the word as it was loaded, and Bell::rung */
byte king_word;           /* as the coordinator has loaded it */

byte seen;
bool seen_gone;

active proctype memory() {
  byte value;
end:
  do
  :: atomic { of_sender ? value -> lane = value; value = 0 }
  :: atomic { of_sleeper ? value -> sleep_word = value; value = 0 }
  :: atomic { of_king ? gone }
  od
}

#define HOW(word) ((word) % 4)

/* wake::ring(): load the status word; a sleep that this bell has ended, as `rung` says, is left
   alone; a futex wake that finds nobody is tried again while the word stays. Every system call
   empties the store buffer of the caller. */
inline ring(buffer, word, rung) {
  atomic {
    word = sleep_word;
    if
    :: word == rung -> word = AWAKE
    :: else
    fi
  }
  do
  :: HOW(word) == AWAKE -> break
  :: HOW(word) == EVENT -> atomic { empty(buffer) -> token = true }; remember(word, rung); break
  :: HOW(word) == FUTEX ->
     if
     :: atomic { empty(buffer) && in_futex -> in_futex = false }; remember(word, rung); break
     :: empty(buffer) && !in_futex
     :: sleep_word != word -> break  /* it looks at the word before each try */
     fi;
#ifdef MUTANT_ONE_FUTEX_TRY
     break
#else
     if
     :: sleep_word == word  /* os::yield() */
     :: sleep_word != word -> break
#ifdef SHORT_FIRST_BLOCK
     :: break  /* kRingTries */
#endif
     fi
#endif
  od;
  word = AWAKE
}

/* Bell::rung. A sleep that can be seen no more is as good as none, and the states are fewer. */
inline remember(word, rung) {
#ifdef MUTANT_LATER_SLEEP_REMEMBERED
  rung = sleep_word
#else
  rung = (sleep_word == word -> word : 0)
#endif
}

/* The coordinator remembers nothing. */
inline ring_anew() {
  ring(of_king, king_word, rung);
  rung = 0
}

active proctype sender() {
  byte sent;
  {
    do
    :: sent < MESSAGES ->
#ifdef MUTANT_STATUS_BEFORE_PUBLISH
       its_word = sleep_word;
#endif
       sent++;
       of_sender ! sent;  /* shm::publish_slot() */
#ifndef MUTANT_NO_SENDER_FENCE
       empty(of_sender);  /* SendPath::publish(): full_fence() */
#endif
#ifdef MUTANT_STATUS_BEFORE_PUBLISH
       if
       :: HOW(its_word) != AWAKE -> ring(of_sender, its_word, its_rung)
       :: else
       fi
#else
       ring(of_sender, its_word, its_rung)
#endif
    :: else -> break
    od
  } unless { kill_sender };
  /* Retired stores become visible before the pidfd is readable. */
  if
  :: atomic { kill_sender && empty(of_sender) -> dead = true }
  :: !kill_sender
  fi
}

/* Sleeper::last_look(): control socket, directory word, lane. */
inline look_at_all(socket) {
  found = false;
  if
  :: atomic { packets > 0 && (socket) -> packets = 0; found = true }
  :: packets == 0 || !(socket)
  fi;
  if :: atomic { gone != seen_gone -> seen_gone = gone; found = true } :: gone == seen_gone fi;
  look_at_lane()
}

/* Waiter::wait(): look(), of the lane alone. */
inline look_at_lane() {
  if :: atomic { lane != seen -> seen = lane; found = true } :: lane == seen fi
}

/* Numbers are compared and nothing else: any that nobody holds is as good as the next one. */
#define IS_NEW(n) (sleep_word / 4 != n && its_word / 4 != n && its_rung / 4 != n && king_word / 4 != n)

/* Waiter::say_asleep(). */
inline say_asleep(how) {
  atomic {
#ifdef MUTANT_SLEEP_NOT_NUMBERED
    number = 1;
#else
    number = (IS_NEW(1) -> 1 : (IS_NEW(2) -> 2 : (IS_NEW(3) -> 3 : (IS_NEW(4) -> 4 : 5))));
#endif
    of_sleeper ! number * 4 + how;
    number = 0
  }
#ifndef MUTANT_NO_SLEEPER_FENCE
  atomic {
    empty(of_sleeper);
    its_rung = (its_rung == sleep_word -> its_rung : 0)
  }
#endif
}

active proctype sleeper() {
  bool found, first;
  byte number;
  if
  :: goto inside
  :: goto outside
  fi;

inside: /* Waiter::wait(), again and again */
  found = false;
  look_at_lane();
  if :: found -> goto inside :: else fi;
  first = true;
again:
  if
  :: first -> say_asleep(FUTEX)
  :: else -> say_asleep(EVENT)
  fi;
#ifndef MUTANT_NO_LAST_LOOK
  look_at_all(LOOK_AT_SOCKET);
  if :: found -> of_sleeper ! AWAKE; goto inside :: else fi;
#endif
#ifdef MUTANT_DRAIN_BEFORE_BLOCK
  token = false;
#endif
  /* Waiter::block(): the kernel empties the store buffer. Nobody but us writes the word that it
     compares, so it always finds the word as we left it. */
  if
  :: first -> atomic { empty(of_sleeper) -> in_futex = true };
end_futex:
     if
     :: !in_futex
#ifdef SHORT_FIRST_BLOCK
     :: atomic { in_futex -> in_futex = false }  /* kFirstWait is over */
#endif
     fi
  :: else -> empty(of_sleeper);
end_event:
     atomic { token -> token = false }  /* wait_readable(), drain_events() */
  fi;
  of_sleeper ! AWAKE;  /* Waiter::wake_up() */
  look_at_all(true);
  if
  :: found -> goto inside
  :: else -> first = false; goto again
  fi;

outside: /* Sleeper::arm_again() */
  atomic { empty(of_sleeper) -> token = false };  /* Waiter::fall_asleep(): drain_events() */
  say_asleep(EVENT);
#ifndef MUTANT_NO_LAST_LOOK
  look_at_all(LOOK_AT_SOCKET);
  if :: found -> token = true :: else fi;  /* Waiter::signal_self() */
#endif
  empty(of_sleeper);
end_outside:
  token;                           /* the user waits on the fd */
  of_sleeper ! AWAKE;              /* disarm(): wake_up() */
  look_at_all(false);              /* the socket where a clock has ticked, else when it arms again */
  goto outside
}

/* end_life(): the keeper is told, the directory word changes, peers are rung. */
inline bury() {
  atomic { dead && !ended_in_keeper -> ended_in_keeper = true };
  of_king ! true;  /* Hive::refresh_word() */
#ifndef MUTANT_NO_RING_ON_DEATH
#ifndef MUTANT_NO_COORDINATOR_FENCE
  empty(of_king);  /* Hive::ring(): full_fence() */
#endif
  ring_anew()
#endif
}

active proctype coordinator() {
  byte rung;
  bool again;
  {
end_serve:
    do
    :: bury()
    :: atomic { !announced -> announced = true; packets++ };  /* Hive::announce() */
       empty(of_king);
       ring_anew()
    od
  } unless { atomic { kill_king && !again -> again = true; king_word = 0; rung = 0 } };
  /* Its unread packets may be lost with the connection, or not. */
  if
  :: packets = 0
  :: skip
  fi;
  /* restore(): words anew from the records of the keeper, then everybody is rung. */
  atomic {
    empty(of_king) ->
    gone = ended_in_keeper
  }
#ifndef MUTANT_NO_RING_ON_RESTORE
  ring_anew();
#endif
end_again:
  do
  :: bury()
  od
}

active proctype killer() {
  if :: kill_sender = true :: skip fi;
  if :: kill_king = true :: skip fi
}

/* When nothing else can move. */
active proctype judge() {
  timeout;
  assert(seen == lane);
  assert(packets == 0);
  assert(seen_gone == gone && gone == dead)
}
