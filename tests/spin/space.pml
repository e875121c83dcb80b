/* Back-pressure with both ends asleep: Sender::wait_for_space() (src/agent/sender.cc) over
   Waiter::wait() (src/wake/waiter.h), SendPath::check(), publish() and want_space()
   (src/send/send_path.cc), Drain::drain(), commit(), done(), ring_for_space(), ring_sometimes(),
   ring_after_stamp() and ring_stamped() (src/receive), end_life() and Hive::ring_peers()
   (src/control/death.cc, hive.cc).

   Modelled    two agents that send to each other and wait for space, both with one thread. Each has
               the store buffer of x86-TSO: slots, receipts, space word and status word leave it in
               order. Between two sends an agent may take from its inbox or not; after the last one
               it receives for ever. The end of a wait for space that found it is a send, with all
               that belongs to it. With -DSLABS slabs are scarce: given back by done(), not
               by the drain, so an agent that waits gives none back.
   Abstracted  contents of messages; urgent lanes; the spin before a block; blocks on the futex
               (wake.pml). Receipts, stamps and slots are counts.
               With -DREMEMBER each bell remembers the sleep that it has ended, as in the code;
               without it, every ring is made, and more messages can be searched.
               With -DUNFENCED=n most messages come alone in their lane: of n receipts one has a
               fence (SpaceRings::ring_sometimes()), and lanes have n slots. One less is a mutant.
               With -DSTAMPS=n and -DSLABS only the last of n stamps has a fence
               (SpaceRings::ring_after_stamp()), and a drain makes up for the others. The code also
               has one after the last message that an agent holds.
   No time     nothing ends a block but a ring. A deadline ends a wait only where the design says
               that nothing else can: both agents wait, and neither can drain or give back any more.
   Faults      kill of agent 1 at any step.
   Invariants  when nothing can move any more, each living agent has sent everything or was told that
               its peer is dead, and has taken all that its peer has published.

   Exhaustive: 992,793 states; with -DSLABS 311,687; with -DTABLE=1 -DMESSAGES=3, where tables fill
   up, 2,606,038; with -DUNFENCED=3 -DMESSAGES=5 -DANSWERS=1 2,722,042; with -DSLABS -DSTAMPS=2
   -DSLOTS=2 -DMESSAGES=3 2,557,886; with -DREMEMBER and -DSLABS 1,846,998, and -DTABLE=1 8,539,710. */

#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef ANSWERS
#define ANSWERS MESSAGES /* of agent 1 */
#endif
#ifdef MUTANT_LANE_TOO_SHORT
#define SLOTS (UNFENCED - 1)
#endif
#ifndef SLOTS
#ifdef UNFENCED
#define SLOTS UNFENCED
#else
#define SLOTS 1
#endif
#endif
#ifdef UNFENCED
#define ALONE 1 /* messages alone in their lane, which take the short way */
#else
#define ALONE 0
#endif
#ifndef TABLE
#define TABLE 2 /* entries of each inbox */
#endif

mtype = { SLOT, RECEIPT, SPACE, SLEEP };

/* Visible to everybody; only agent i writes [i]. */
byte lane[2];     /* messages published */
byte receipt[2];  /* how far i has taken the lane of its peer; with SLABS how many it has finished */
bool space[2];    /* LinkControl::space */
byte asleep[2];   /* StatusPage::sleep: the number of the sleep, 0 awake */
bool token[2];    /* in the eventfd of i */
bool gone[2];     /* directory word, the coordinator's */

chan stores[2] = [4] of { mtype, byte };

bool kill_one, one_is_dead;
#ifdef STAMPS
byte sent_by[2];   /* messages */
#define sent sent_by[me]
#define LACKS_SPACE(i) (sent_by[i] - receipt[1 - i] >= SLOTS)
#endif
byte held[2];      /* entries in use */
byte taken[2];     /* position in the peer's lane */
bool settled[2];   /* everything is sent, or the peer is dead */
bool in_wait[2];   /* blocked while it waits for space */
byte word[2];      /* the status word of its peer as it was loaded */
byte for_slot[2], for_space[2];  /* Bell::rung of the one rung for a slot, and for space */

#ifdef STAMPS
#define NEITHER_CAN_HELP (held[0] > 0 && held[1] > 0 && LACKS_SPACE(0) && LACKS_SPACE(1))
#elif defined(SLABS)
#define NEITHER_CAN_HELP (held[0] > 0 && held[1] > 0)
#else
#define NEITHER_CAN_HELP (held[0] == TABLE && held[1] == TABLE)
#endif

active proctype memory() {
end:
  do
  :: stores[0] ? SLOT, lane[0]
  :: stores[0] ? RECEIPT, receipt[0]
  :: stores[0] ? SPACE, space[0]
  :: stores[0] ? SLEEP, asleep[0]
  :: stores[1] ? SLOT, lane[1]
  :: stores[1] ? RECEIPT, receipt[1]
  :: stores[1] ? SPACE, space[1]
  :: stores[1] ? SLEEP, asleep[1]
  od
}

#define FENCE empty(stores[me])
#define PEER (1 - me)
#define TO_SEND (me == 0 -> MESSAGES : ANSWERS)

/* wake::ring() of a sleeper on the eventfd. A sleep that can be seen no more is as good as
   none, and the states are fewer (wake.pml). */
inline ring_peer(rung) {
  atomic {
    word[me] = asleep[PEER];
    if
    :: word[me] == rung -> word[me] = 0
    :: else
    fi
  }
  if
  :: word[me] != 0 ->
     atomic {
       FENCE -> token[PEER] = true;
#ifdef REMEMBER
       rung = (word[me] == asleep[PEER] -> word[me] : 0);
#endif
       word[me] = 0
     }
  :: else
  fi
}

#if defined(REMEMBER) && !defined(MUTANT_SLEEP_NOT_NUMBERED)
#define IS_NEW(n) (asleep[me] != n && word[PEER] != n && for_slot[PEER] != n && for_space[PEER] != n)
#define NEXT_SLEEP (IS_NEW(1) -> 1 : (IS_NEW(2) -> 2 : (IS_NEW(3) -> 3 : (IS_NEW(4) -> 4 : 5))))
#else
#define NEXT_SLEEP 1
#endif

/* Waiter::say_asleep(). */
inline say_asleep() {
  stores[me] ! SLEEP, NEXT_SLEEP;
#ifndef MUTANT_NO_SLEEPER_FENCE
  atomic {
    FENCE;
    for_slot[PEER] = (for_slot[PEER] == asleep[me] -> asleep[me] : 0);
    for_space[PEER] = (for_space[PEER] == asleep[me] -> asleep[me] : 0)
  }
#endif
}

inline ring_if_wanted() {
  if
  :: atomic { wanted -> wanted = false }; ring_peer(for_space[me])
  :: else
  fi
}

/* SpaceRings::ring_for_space(), after a receipt or a stamp. */
inline give_back(count) {
#ifdef MUTANT_SPACE_WORD_READ_FIRST
  wanted = space[PEER];
  stores[me] ! RECEIPT, count;
  FENCE;
#else
  stores[me] ! RECEIPT, count;
#ifndef MUTANT_NO_RECEIPT_FENCE
  FENCE;
#endif
  wanted = space[PEER];
#endif
  ring_if_wanted()
}

#ifdef UNFENCED
/* SpaceRings::ring_sometimes(), after the receipt for a message that was alone in its lane. */
inline give_back_one() {
  stores[me] ! RECEIPT, taken[me];
  atomic {
    unfenced++;
    if
    :: space[PEER] || unfenced == UNFENCED -> unfenced = 0; wanted = true
    :: else
    fi
  }
  if
  :: wanted -> FENCE; wanted = space[PEER]; ring_if_wanted()
  :: else
  fi
}
#endif

#ifdef STAMPS
#ifdef MUTANT_NO_STAMP_FENCE
#define STAMP_FENCE skip
#else
#define STAMP_FENCE FENCE
#endif

/* SpaceRings::ring_after_stamp(). */
inline give_back_stamp() {
  stores[me] ! RECEIPT, finished;
  atomic {
    unstamped++;
    if
    :: space[PEER] || unstamped == STAMPS -> unstamped = 0; wanted = true
    :: else
    fi
  }
  if
  :: wanted -> STAMP_FENCE; wanted = space[PEER]; ring_if_wanted()
  :: else
  fi
}

/* SpaceRings::ring_stamped(). */
inline ring_stamped() {
  if
  :: unstamped != 0 -> unstamped = 0; STAMP_FENCE; wanted = space[PEER]; ring_if_wanted()
  :: else
  fi
}
#endif

/* Receiver::drain_all(): one message; `found` says that there was one and room for it. With UNFENCED
   Receiver::take_alone() too. */
inline drain() {
#if defined(STAMPS) && !defined(MUTANT_STAMPS_LEFT_AT_DRAIN)
  ring_stamped();
#endif
  found = false;
  if
#ifdef UNFENCED
  :: atomic { lane[PEER] == taken[me] + 1 && held[me] < TABLE ->
              taken[me]++; held[me]++; found = true }
     give_back_one()
#endif
  :: atomic { lane[PEER] > taken[me] + ALONE && held[me] < TABLE ->
              taken[me]++; held[me]++; found = true }
#ifndef SLABS
     give_back(taken[me])
#endif
  :: lane[PEER] == taken[me] || held[me] == TABLE
  fi
}

/* Receiver::take() and done(). */
inline finish_one() {
  atomic { held[me] > 0 -> held[me]--; finished++ }
#if defined(STAMPS)
  ; give_back_stamp()
#elif defined(SLABS) && !defined(MUTANT_NO_RING_AT_DONE)
  ; give_back(finished)
#elif defined(SLABS)
  ; stores[me] ! RECEIPT, finished
#endif
}

/* SendPath::check(), then put() and publish(): `done_sending` when it has settled. */
inline attempt() {
  if
  :: gone[PEER] -> result = 2
  :: !gone[PEER] ->
     if
     :: sent - receipt[PEER] < SLOTS ->
        sent++;
        stores[me] ! SLOT, sent;
#ifndef MUTANT_NO_PUBLISH_FENCE
        FENCE;
#endif
        if
        :: gone[PEER] -> result = 2  /* orphaned: nobody will take it */
        :: !gone[PEER] -> result = 1; ring_peer(for_slot[me])
        fi
     :: else -> result = 0
     fi
  fi
}

proctype agent(byte me) {
#ifndef STAMPS
  byte sent;
#endif
  byte finished, result;
#ifdef UNFENCED
  byte unfenced;
#endif
#ifdef STAMPS
  byte unstamped;
#endif
  bool found, wanted;
  {
sending:
    do
    :: result == 2 || sent == TO_SEND -> break
    :: result != 2 && sent < TO_SEND ->
       if
       :: drain()
       :: held[me] > 0 -> finish_one()
       :: skip
       fi;
       attempt();
       if
       :: result != 0
       :: result == 0 ->
          /* wait_for_space() */
#ifndef MUTANT_SPACE_WORD_LATE
          stores[me] ! SPACE, true;
          FENCE;
#endif
waiting:
          say_asleep();
          /* last_look(), then the attempt */
#ifndef MUTANT_NO_DRAIN_IN_WAIT
          drain();
          do :: found -> drain() :: else -> break od;
#endif
          attempt();
          if
          :: result == 0 ->
#ifdef MUTANT_SPACE_WORD_LATE
             stores[me] ! SPACE, true;
#endif
             FENCE;  /* Waiter::block(): a system call */
             in_wait[me] = true;
end_wait:
             if
             :: atomic { token[me] -> token[me] = false; in_wait[me] = false };
                stores[me] ! SLEEP, 0;  /* Waiter::wake_up() */
#ifdef MUTANT_SPACE_WORD_ONCE
                stores[me] ! SPACE, false;
#endif
                goto waiting
             :: atomic { !token[me] && in_wait[0] && in_wait[1] && !token[PEER] &&
                         NEITHER_CAN_HELP -> in_wait[me] = false };
                /* The deadline; `full` is the result, and the application takes something first. */
                stores[me] ! SLEEP, 0;
                stores[me] ! SPACE, false;
                finish_one();
                goto sending
             fi
          :: else
          fi;
          stores[me] ! SLEEP, 0;
          stores[me] ! SPACE, false
       fi
    od;
    settled[me] = true;
    /* Agent::receive() for ever */
    do
    :: held[me] > 0 -> finish_one()
    :: held[me] == 0 ->
       drain();
       if
       :: found
       :: else ->
          say_asleep();
          drain();
          if
          :: found
          :: else ->
             FENCE;
end_receive:
             atomic { token[me] -> token[me] = false }
          fi;
          stores[me] ! SLEEP, 0
       fi
    od
  } unless { me == 1 && kill_one };
  /* Retired stores become visible before the pidfd is readable. */
  FENCE;
  one_is_dead = true
}

/* end_life() of agent 1. The store leaves the buffer with the fence of Hive::ring(). */
active proctype coordinator() {
end:
  one_is_dead;
  gone[1] = true;
#ifndef MUTANT_NO_RING_ON_DEATH
  if
  :: asleep[0] != 0 -> token[0] = true
  :: else
  fi
#endif
}

active proctype killer() {
  if
  :: kill_one = true
  :: skip
  fi
}

active proctype judge() {
  timeout;
  assert(settled[0] && taken[0] == lane[1]);
  assert(one_is_dead || (settled[1] && taken[1] == lane[0]))
}

init {
  atomic {
    run agent(0);
    run agent(1)
  }
}
