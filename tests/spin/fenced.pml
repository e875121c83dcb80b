/* A life that was fenced and still runs beside its successor: Inheritance::take_over()
   (src/agent/inheritance.cc), read_receipts(), read_row(), inherit_home(), inherit_late_stamps()
   (src/receive/successor.cc), judge_entry(), late_stamp(), withdraw_stamp() (shm/handover.h,
   shm/slab.h); the sender: retarget() (src/send/send_path.cc), still_counts(), go_on_with_heir()
   (src/send/out_link.cc).

   Modelled    one sender, one link with SLOTS slots and one slab; message 2 lies inline, all others
               in the slab. The first life of the receiver is fenced at any step and goes on as if
               it were not, to the end: it never looks at the directory. The second life copies the
               state of the first while that writes it: receipts and stamps, the cursor, entry by
               entry, the stamps once more. Then it is committed.
   Abstracted  memory is sequentially consistent: weak memory is in living-lane, living-slab,
               inherit-living, inherit-stamps (docs/memory-orders.md). Kills are in handover.pml. A
               slot is read whole, an entry copied whole. The fenced life sees by the number of a
               slot that it holds another message, and takes nothing from it.
   Invariants  the successor takes from lane and slab the message that was sent there; it has no
               message that was finished before the fence; at the end all is sent and finished.

   Exhaustive: 50,661 states. */

#define MESSAGES 4
#define SLOTS 2

#define FREE 0
#define QUEUED 1
#define LEASED 2

/* The directory word: the first life runs, its successor is starting, that runs. */
#define RUNNING 0
#define STARTING 1
#define COMMITTED 2

#define IN_SLAB(m) ((m) != 2)
#define POSITION(m) ((m) - 1)
#define BIT(m) (1 << (m))

byte word;

/* The link. */
byte tail;
byte slot[SLOTS];
byte slab, generation;
byte generation_of[MESSAGES + 1];  /* in the slot and the entry of a message */

typedef life {
  byte cursor;
  byte entry[MESSAGES + 1];  /* state, by message */
  byte receipt, stamp;       /* in its own link to the sender */
};
life lives[2];
#define F lives[0]
#define N lives[1]

/* Only the model has these. */
byte finished;          /* bit: by either life */
byte finished_in_time;  /* bit: its entry was free before the fence */
bool sent_all;

#define COUNTS lives[word / 2]
#define SAYS_MORE (COUNTS.receipt != receipt || COUNTS.stamp != stamp)

active proctype sender() {
  byte next = 1, x, r, s, receipt, stamp;
  do
  :: next > MESSAGES -> break
     /* OutLink: the receipts of the life that counts, if it still does after they were read. */
#ifdef MUTANT_FOLLOWED_HEARD
  :: atomic { SAYS_MORE -> x = word };
#else
  :: atomic { word != STARTING && SAYS_MORE -> x = word };
#endif
#ifdef MUTANT_STAMPS_BEFORE_CURSORS
     s = lives[x / 2].stamp;
     r = lives[x / 2].receipt;
#else
     r = lives[x / 2].receipt;
     s = lives[x / 2].stamp;
#endif
     atomic {
       if
#ifdef MUTANT_NO_SECOND_LOOK
       :: true -> receipt = r; stamp = s
#else
       :: word == x -> receipt = r; stamp = s
       :: else
#endif
       fi;
       x = 0; r = 0; s = 0
     }
     /* A slab is free if its message was taken, too; otherwise its stamp is void. */
  :: atomic {
       next <= MESSAGES && tail - receipt < SLOTS &&
       (!IN_SLAB(next) || generation == 0 ||
#ifdef MUTANT_UNREAD_COLLECTED
        stamp >= generation) ->
#else
        (stamp >= generation && POSITION(slab) < receipt)) ->
#endif
       if :: IN_SLAB(next) -> generation++; generation_of[next] = generation; slab = next :: else fi
     };
     atomic { slot[tail % SLOTS] = next; tail++; next++ }
  od;
  sent_all = true
}

#define ANY_QUEUED(who) \
  (who.entry[1] == QUEUED || who.entry[2] == QUEUED || \
   who.entry[3] == QUEUED || who.entry[4] == QUEUED)
inline first_queued(who) {
  m = 1;
  do
  :: who.entry[m] != QUEUED -> m++
  :: else -> break
  od
}

/* drain_lane(), take(), done(). */
active proctype fenced() {
  byte m;
end:
  do
  :: atomic { tail > F.cursor && slot[F.cursor % SLOTS] == F.cursor + 1 -> m = F.cursor + 1;
              F.entry[m] = QUEUED };
     F.cursor = m;
     F.receipt = m;
     m = 0
  :: atomic { ANY_QUEUED(F) -> first_queued(F);
              F.entry[m] = LEASED;
              assert(word != RUNNING || !IN_SLAB(m) || slab == m) };
     if :: IN_SLAB(m) -> F.stamp = generation_of[m] :: else fi;
     atomic { F.entry[m] = FREE; finished = finished | BIT(m);
              if :: word == RUNNING -> finished_in_time = finished_in_time | BIT(m) :: else fi;
              m = 0 }
  od
}

active proctype successor() {
  byte m, copied;
  bool held;
end:
  word = STARTING;  /* at any step of the others, or never */
  /* read_receipts(), read_row() */
  copied = F.stamp;
#ifndef MUTANT_CURSOR_LAST
  N.cursor = F.cursor;
#endif
  /* inherit_home() */
  m = 1;
  do
  :: m <= MESSAGES ->
     atomic {
       if
       :: F.entry[m] == FREE || (IN_SLAB(m) && copied >= generation_of[m])
#ifndef MUTANT_CURSOR_LAST
       :: F.entry[m] != FREE && POSITION(m) >= N.cursor
#endif
       :: else -> N.entry[m] = QUEUED
       fi;
       m++
     }
  :: else -> break
  od;
#ifdef MUTANT_CURSOR_LAST
  N.cursor = F.cursor;
#endif
  /* inherit_late_stamps(): not for a message that it holds itself. */
  atomic {
    N.stamp = copied;
#ifndef MUTANT_LATE_STAMP_MISSED
    held = false;
    m = 1;
    do
    :: m <= MESSAGES -> held = held || (N.entry[m] != FREE && IN_SLAB(m)); m++
    :: else -> break
    od;
#ifdef MUTANT_LATE_STAMP_OF_HELD
    held = false;
#endif
    if :: F.stamp > copied && !held -> N.stamp = F.stamp :: else fi;
#endif
    N.receipt = N.cursor;
    m = 0; copied = 0; held = false
  };
  word = COMMITTED;
end_committed:
  do
  :: atomic {
       tail > N.cursor -> m = N.cursor + 1;
       assert(slot[N.cursor % SLOTS] == m);
       assert(!IN_SLAB(m) || slab == m);
       assert(N.entry[m] == FREE);
       N.entry[m] = QUEUED;
#ifndef MUTANT_FALSE_STAMP_KEPT
       if :: IN_SLAB(m) && N.stamp >= generation_of[m] -> N.stamp = generation_of[m] - 1 :: else fi;
#endif
       N.cursor = m
     };
     N.receipt = m;
     m = 0
  :: atomic {
       ANY_QUEUED(N) -> first_queued(N);
       assert(!(finished_in_time & BIT(m)));
       assert(!IN_SLAB(m) || slab == m);
       N.entry[m] = LEASED
     };
     atomic {
       assert(!IN_SLAB(m) || slab == m);
       if :: IN_SLAB(m) -> N.stamp = generation_of[m] :: else fi;
       N.entry[m] = FREE; finished = finished | BIT(m); m = 0
     }
  od
}

active proctype judge() {
  timeout;
  assert(sent_all && finished == (BIT(MESSAGES + 1) - 2))
}
