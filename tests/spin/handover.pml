/* Drain, take, done and hand-over: Drain::drain_lane(), put_next(), commit(), take(), done(),
   requeue(), bury(), purge_dead() (src/receive over shm/inbox.h),
   InLink::open(), close_receipts(), judge_entry(), inherit_entry(), inherit_stamps() (shm/handover.h),
   Inheritance::take_over() (src/agent/inheritance.cc), commit() (src/control/lives.cc),
   TakeoverWorker (src/control/takeover.cc); the sender: SendPath::check(), publish(), retarget()
   (src/send/send_path.cc), SlabPool (shm/slab.h).

   Modelled    one sender with two lives, one receiver with three. Each life of the sender has its own
               link: a lane of SLOTS slots and one slab; message 2 lies inline, all others in the
               slab. Each life of the receiver has a home (cursors and entries) and a link of its own
               with receipts and stamps. After the last kill a successor goes on, or the coordinator
               takes home and lanes over into its dead letters.
   Abstracted  memory is sequentially consistent: a successor reads the memory of a dead process, and
               living processes read each other by release and acquire. An entry is known by its
               message, so its place in the table and the index are not there. Waking is in
               wake.pml, the coordinator's death in open.pml and successor.pml. It does not die while it
               takes home and lanes over: its letters would end with it, and the next one would read
               all of it anew, which the keeper has to the end (RestartTest.ADeathIsTakenOver...;
               killed before calls and stores, over an agent that leaves letters, in KillCoordinatorTest.
               ACoordinatorThatReadsTheHomeOfAFinallyDeadAgent). A successor's copy is one step:
               its source is frozen, and until the commit nobody reads its result. A life that was
               fenced and still runs is in fenced.pml. So here the sender may use the old receipts
               until the commit; the engine uses none while a successor reads.
   Faults      kill of the sender's first life and two kills of the receiver's lives, a successor
               before its commit among them, each at any step.
   Invariants  whenever a receiver has died: each committed message is in exactly one of lane, inbox
               and done, and its slot and slab still hold it. A message is handed out twice only with
               an attempt counted, never after done. The first life's messages are taken first. At
               the end all is sent, and each message is done or one dead letter; the sender may have
               been told that it is orphaned too. The one exception: a message is nowhere if the sender
               publishes it to a finally dead receiver, and is killed before it looks.

   Exhaustive: 4,805,320 states; with -DSLOTS=1 -DKILLS=1 489,112. */

#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef KILLS
#define KILLS 2
#endif

#define FREE 0
#define QUEUED 1
#define LEASED 2
#define DEAD 3

#define LIVES 3
#define IN_SLAB(m) ((m) != 2)
/* The link of message m, and its position there. */
#define LINK(m) ((m) >= first_of_second -> 1 : 0)
#define POSITION(m) ((m) >= first_of_second -> (m) - first_of_second : (m) - 1)
#define MESSAGE_AT(s, p) ((s) == 1 -> first_of_second + (p) : (p) + 1)

/* Links of the sender's lives. */
byte tail[2];              /* messages published */
byte slot[4];              /* slot p of link s at 2 * s + p: the message that it holds */
byte slab[2];              /* the message with its payload in the slab */
byte generation[2];        /* of the slab; private to the sender */
byte generation_of[5];     /* in the slot and the entry of a message */
byte first_of_second = 9;  /* first message of the second life */
bool sender_gone;          /* directory word: the first life has ended */

/* Homes and links of the receiver's lives. */
typedef life {
  byte cursor[2];   /* InRow::cursors, of both links */
  byte entry[5];    /* state, by message */
  byte attempts;    /* a bit for each message that has one */
  byte receipt[2];  /* ReceiptBank::cursors */
  byte stamp[2];
  bool closed;      /* the bank for the first life's link */
};
life lives[LIVES];

byte committed;  /* the life that the directory word names */
bool dead_word;  /* and it is finally dead */

bool kill_sender, kill_receiver;
byte kills;
bool sender_done, taken_over;

/* Only the model has these. */
byte published;     /* messages */
byte given;         /* bit: handed out at least once */
byte finished;      /* bit: done or purged */
byte letter;        /* bit: among the dead letters of the coordinator */
byte orphaned;      /* bit: the sender was told that the receiver is dead */

#define BIT(m) (1 << (m))
#define STAMPED(b, m) (IN_SLAB(m) && !(LINK(m) == 0 && lives[b].closed) && \
                       lives[b].stamp[LINK(m)] >= generation_of[m])
#define UNCOMMITTED(b, m) (lives[b].entry[m] == QUEUED && POSITION(m) >= lives[b].cursor[LINK(m)])
#ifdef MUTANT_COPY_UNCOMMITTED
#define IGNORED(b, m) (lives[b].entry[m] == FREE)
#else
#define IGNORED(b, m) (lives[b].entry[m] == FREE || UNCOMMITTED(b, m))
#endif

/* Every committed message is in one place, for the next life. */
inline check_all() {
  d_step {
    m = 1;
    do
    :: m <= published && !(orphaned & BIT(m)) ->
       x = 0;
       if
       :: POSITION(m) >= lives[committed].cursor[LINK(m)] ->
          x++;
          assert(slot[2 * LINK(m) + POSITION(m) % SLOTS] == m)
       :: else
       fi;
       if
       :: lives[committed].entry[m] != FREE && !UNCOMMITTED(committed, m) && !STAMPED(committed, m) ->
          x++
       :: else
       fi;
       assert(x == 0 || !IN_SLAB(m) || slab[LINK(m)] == m);
       if :: finished & BIT(m) -> x++ :: else fi;
       assert(x == 1);
       m++
    :: m <= published && (orphaned & BIT(m)) -> m++
    :: else -> break
    od;
    m = 0; x = 0
  }
}

#define HAS_SLOT(s) (tail[s] - lives[seen].receipt[s] < SLOTS)
#define HAS_SLAB(s) (generation[s] == 0 || lives[seen].stamp[s] == generation[s])

/* Sets to zero all that nobody will read again, so that states differ only if it matters. */
inline forget_link(b) {
  lives[b].receipt[0] = 0;
  lives[b].receipt[1] = 0;
  lives[b].stamp[0] = 0;
  lives[b].stamp[1] = 0
}

active proctype sender() {
  byte next = 1, seen, s;
  bool in_flight;  /* published, and send() has not looked at the directory yet */
again:
  {
    do
    :: next > MESSAGES || dead_word -> break  /* SendPath::check(): the receiver is dead */
    :: else ->
       /* retarget(), once the link of the new life is known: until then the old receipts count. */
       if
       :: atomic { seen != committed -> forget_link(seen); seen = committed }
       :: HAS_SLOT(s) && (!IN_SLAB(next) || HAS_SLAB(s)) ->
          if
          :: IN_SLAB(next) ->  /* SlabPool::take(), then the payload */
             atomic { generation[s]++; generation_of[next] = generation[s]; slab[s] = next }
          :: else
          fi;
          /* publish_slot(): its last store */
          atomic { slot[2 * s + tail[s] % SLOTS] = next; tail[s]++; published = next; in_flight = true; next++ };
          /* publish(): full fence, then the directory word */
          if
          :: atomic { dead_word -> orphaned = orphaned | BIT(published); in_flight = false }
          :: atomic { !dead_word -> in_flight = false }
          fi
       :: dead_word -> skip
       fi
    od
  } unless {
    atomic {
      kill_sender && s == 0 ->
      s = 1;
      next = published + 1;
      first_of_second = next;
      /* Published to a dead receiver, and no sender is left to be told. */
      if :: in_flight && dead_word -> orphaned = orphaned | BIT(published) :: else fi;
      in_flight = false
    }
  };
  if
  :: s == 1 && !sender_gone -> sender_gone = true; goto again
  :: else
  fi;
  sender_done = true
}

#define H lives[me]

/* drain_lane(): put_next() for each message, then commit(). */
inline drain(s) {
  atomic {
    m = MESSAGE_AT(s, x);
    assert(slot[2 * s + x % SLOTS] == m);
    assert(s == 0 || tail[0] == H.cursor[0]);
    assert(H.entry[m] == FREE)
  };
#ifdef MUTANT_CURSOR_BEFORE_PUT
  H.cursor[s] = x + 1;
#endif
  atomic { H.entry[m] = QUEUED; x++ };
  if
  :: atomic { tail[s] > x -> m = MESSAGE_AT(s, x); H.entry[m] = QUEUED; x++ }
  :: skip
  fi;
#ifdef MUTANT_RECEIPT_BEFORE_HOME
  H.receipt[s] = x;
#endif
  H.cursor[s] = x;
  atomic {
    if :: s == 1 || !H.closed -> H.receipt[s] = x :: else fi;
    m = 0; x = 0
  }
}

/* Inbox::release(): the stamp, then the entry. */
inline release() {
#ifdef MUTANT_FREE_BEFORE_STAMP
  H.entry[m] = FREE;
#endif
  if
  :: atomic { IN_SLAB(m) && !(LINK(m) == 0 && H.closed) ->
              H.stamp[LINK(m)] = generation_of[m]; finished = finished | BIT(m) }
  :: else
  fi;
  atomic { H.entry[m] = FREE; finished = finished | BIT(m); m = 0 }
}

/* commit(): the directory word. The old home is let go. */
inline commit() {
  d_step {
    x = committed;
    committed = me;
    lives[x].cursor[0] = 0;
    lives[x].cursor[1] = 0;
    lives[x].entry[1] = FREE;
    lives[x].entry[2] = FREE;
    lives[x].entry[3] = FREE;
    lives[x].attempts = 0;
    lives[x].closed = false;
    x = 0
  }
}

inline first(what) {
  m = 1;
  do
  :: m <= MESSAGES && H.entry[m] != what -> m++
  :: else -> break
  od
}
#define ANY(what) (H.entry[1] == what || H.entry[2] == what || H.entry[3] == what)

#ifdef MUTANT_NEWER_LINK_FIRST
#define OLDER_IS_EMPTY true
#else
#define OLDER_IS_EMPTY (tail[0] == H.cursor[0])
#endif

active proctype receiver() {
  byte me, m, x;
end_again:
  {
end_alive:
    do
#ifdef MUTANT_TAKE_BEFORE_COMMIT
    :: committed != me -> commit()
#endif
    :: atomic { tail[0] > H.cursor[0] -> x = H.cursor[0] }; drain(0)
    :: atomic { tail[1] > H.cursor[1] && OLDER_IS_EMPTY -> x = H.cursor[1] }; drain(1)
       /* watch_owners(): nobody reads receipts for the dead */
    :: atomic { sender_gone && !H.closed && tail[0] == H.cursor[0] -> H.closed = true }
       /* take(): one store */
    :: atomic {
         ANY(QUEUED) && !ANY(LEASED) -> first(QUEUED);
         H.entry[m] = LEASED;
         assert(!(finished & BIT(m)));
         assert(!(given & BIT(m)) || (H.attempts & BIT(m)));
         assert(!IN_SLAB(m) || slab[LINK(m)] == m);
         given = given | BIT(m);
         m = 0
       }
    :: atomic { ANY(LEASED) -> first(LEASED) }; release()  /* done() */
       /* requeue() */
    :: atomic { H.entry[2] == LEASED && !(H.attempts & BIT(2)) ->
                H.attempts = H.attempts | BIT(2); H.entry[2] = QUEUED }
    :: atomic { H.entry[1] == LEASED -> H.entry[1] = DEAD }  /* bury() */
    :: atomic { H.entry[1] == DEAD -> m = 1 }; release()     /* purge_dead() */
    od
  } unless { kill_receiver };
died:
  atomic { kill_receiver = false; kills++; m = 0; x = 0 };
  check_all();
  if
  :: kills == KILLS -> goto take_over
  :: skip
  fi;

  /* The next life: Inheritance::take_over(). */
  {
    d_step {
      me++;
      m = 1;
      do
      :: m <= MESSAGES ->
         if
         :: IGNORED(committed, m)
#ifndef MUTANT_STAMPED_ARE_TAKEN
         :: !IGNORED(committed, m) && STAMPED(committed, m)
#endif
         :: else ->
            H.entry[m] = lives[committed].entry[m];
            H.attempts = H.attempts | (lives[committed].attempts & BIT(m));
            if
            :: H.entry[m] == LEASED ->
               H.entry[m] = QUEUED;
#ifndef MUTANT_LEASE_NOT_COUNTED
               H.attempts = H.attempts | BIT(m)
#endif
            :: else
            fi
         fi;
         m++
      :: else -> break
      od;
      m = 0;
      H.cursor[0] = lives[committed].cursor[0];
      H.cursor[1] = lives[committed].cursor[1];
      H.receipt[0] = H.cursor[0];
      H.receipt[1] = H.cursor[1];
#ifndef MUTANT_STAMPS_FROM_ZERO
      if :: !lives[committed].closed -> H.stamp[0] = lives[committed].stamp[0] :: else fi;
      H.stamp[1] = lives[committed].stamp[1]
#endif
    };
#ifndef MUTANT_TAKE_BEFORE_COMMIT
    commit()  /* provided and ready */
#endif
  } unless { kill_receiver };
  if
  :: kill_receiver -> goto died
  :: else -> goto end_again
  fi;

take_over:
  skip;
#ifndef MUTANT_WORD_AFTER_LANES
  dead_word = true;
#endif
  /* step_entries(): the home is frozen. */
  d_step {
    m = 1;
    do
    :: m <= MESSAGES ->
       if
       :: lives[committed].entry[m] != FREE && !UNCOMMITTED(committed, m) && !STAMPED(committed, m) ->
          assert(!IN_SLAB(m) || slab[LINK(m)] == m);
          letter = letter | BIT(m)
       :: else
       fi;
       m++
    :: else -> break
    od;
    m = 0;
    x = lives[committed].cursor[0]
  };
#ifndef MUTANT_NO_LANES_IN_TAKEOVER
  /* step_lanes(): the sender may still publish. */
  do
  :: atomic { tail[0] > x -> letter = letter | BIT(MESSAGE_AT(0, x)); x++ }
  :: tail[0] == x -> break
  od;
  x = lives[committed].cursor[1];
  do
  :: atomic { tail[1] > x -> letter = letter | BIT(MESSAGE_AT(1, x)); x++ }
  :: tail[1] == x -> break
  od;
#endif
  dead_word = true;
  taken_over = true
}

active proctype killer() {
  byte asked;
  do
  :: !kill_sender -> kill_sender = true
  :: asked < KILLS && !kill_receiver -> kill_receiver = true; asked++
  :: break
  od
}

active proctype judge() {
  byte m;
  timeout;
  d_step {
    assert(sender_done && (published == MESSAGES || taken_over));
    m = 1;
    do
    :: m <= published ->
       assert(!(finished & BIT(m)) || !(letter & BIT(m)));
       assert((finished & BIT(m)) || (letter & BIT(m)) || (orphaned & BIT(m)));
       m++
    :: else -> break
    od
  }
}
