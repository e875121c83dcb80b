#pragma once
// Runs a scenario through every execution that the memory model allows.
//
// A thread runs until it must wait. Where it loads, it may read any store that its view allows; and
// where a store that comes later could have been read instead, the execution is repeated with the
// load put off until that store is there. Two executions that differ only in the order of steps
// which do not influence each other are one. There is no bound on preemptions: what a scenario can
// do is explored whole, or the run says that it was not.
//
// A victim is killed at each of its steps in turn. What it leaves is what its instruction stream
// had retired: stores in program order, but such as no publish and no fence keeps apart in any
// order.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/explore/fiber.h"
#include "tests/explore/memory.h"
#include "tests/explore/path.h"
#include "tests/explore/sites.h"

namespace beeline::explore {

struct ModelThread {
  const char* name;
  std::function<void()> body;
};

struct Scenario {
  Scenario(std::string its_name, std::string its_bound, const char* what)
      : name(std::move(its_name)), bound(std::move(its_bound)), proves(what) {}

  std::string name;
  std::string bound;  // how much meets; nothing else bounds what is explored
  const char* proves;
  std::function<void()> set_up;  // before each execution; nothing is explored in it
  std::vector<ModelThread> threads;
  std::function<void()> judge;  // after each execution that ended; looks at what is there then
  int victim = -1;              // the thread that is killed at each of its steps
  std::uint64_t least = 1;      // executions below which the scenario has lost its meaning
  // Explored without reduction as well, in all orders with at most so many preemptions.
  std::uint32_t preemptions = 0;
};

struct Result {
  std::uint64_t executions = 0;  // ended, judged, all different
  std::uint64_t redundant = 0;   // given up, since another one shows the same
  std::uint64_t kills = 0;       // different places and ways to be killed
  bool exhaustive = true;
  std::string failure;  // empty: none
  std::string trace;    // of the execution that failed
};

class Explorer {
 public:
  // Explores until the first failure, or until `most` executions.
  [[nodiscard]] Result explore(const Scenario& scenario, std::uint64_t most);

  // The same without any reduction: each thread may go on after each step, but a running one is
  // interrupted at most `preemptions` times. Slow; it is there to show that the reduction loses
  // nothing.
  static constexpr std::uint32_t kNoBound = UINT32_MAX;
  [[nodiscard]] Result explore_all_orders(const Scenario& scenario, std::uint64_t most,
                                          std::uint32_t preemptions = kNoBound);

  // What the words of shm/ and the model of the kernel do (atomic.h, kernel.h).
  [[nodiscard]] std::uint64_t load(const void* at, std::size_t size, Order order, Place place);
  void store(void* at, std::size_t size, std::uint64_t bits, Order order, Place place);
  void full_fence(Place place);
  void crash_fence(Place place);
  // A counter of the kernel, raised and read under the kernel's lock.
  void kernel_add(std::uint64_t& word);
  // Waits until it is above `taken` and returns it.
  [[nodiscard]] std::uint64_t kernel_wait(std::uint64_t& word, std::uint64_t taken);

  // What scenarios say.
  // Plain memory that this thread alone writes: its stores are found by looking. `shared`: other
  // threads read it with read_plain(), and a race on it is a failure.
  void watch(int thread, void* at, std::size_t bytes, bool shared);
  void read_plain(const void* at, std::size_t bytes);
  void check(bool good, const char* text);
  void begin_poll();
  // Whether the thread has to look again.
  [[nodiscard]] bool end_poll(bool satisfied);
  void wait_for_death(int thread);
  [[nodiscard]] bool was_killed() const { return was_killed_; }

 private:
  enum class State : std::uint8_t {
    kReady,
    kAsleep,   // put off until a later store or fence
    kPolling,  // what it polled for was not there
    kBlocked,  // in the kernel
    kEnded,
  };
  struct Watched {
    std::size_t first;
    std::size_t end;
  };
  struct Read {
    std::size_t location;
    std::size_t index;
  };
  struct Thread {
    Fiber fiber;
    std::function<void()> body;
    State state = State::kReady;
    View now;                    // what it may no longer miss
    View acquired;               // what its relaxed loads saw: known after its next full fence
    std::uint32_t released = 0;  // kept view at its last full fence: what its relaxed stores carry
    Causes causes;
    std::size_t waits_for = 0;  // location, or kFence
    bool polls = false;
    std::vector<Read> polled;
    std::vector<Watched> watched;
    std::vector<Read> unfenced;  // its stores since its last fence: a kill may reorder them
    std::uint16_t reads = 0;
    std::uint32_t steps_to_kill = 0;
    bool is_dead = false;
  };
  // No locations have these numbers.
  static constexpr std::size_t kFence = 0;
  static constexpr std::size_t kDeath = 1;

  void explore_kill(const Scenario& scenario, std::uint64_t most, Result& result);
  void run_once(const Scenario& scenario);
  void start(const Scenario& scenario);
  void run_threads();
  // Sets the thread that goes on; false when none can.
  [[nodiscard]] bool find_next();
  // Whether an execution that has come to rest is one to judge.
  [[nodiscard]] bool is_complete(const Scenario& scenario);
  [[nodiscard]] Thread& self() { return threads_[static_cast<std::size_t>(current_)]; }
  void find_plain_stores(Thread& thread);
  void append(Thread& thread, std::size_t at, std::uint64_t bits, std::uint32_t view, bool release);
  [[nodiscard]] std::size_t choose_store(Thread& thread, std::size_t at, bool may_be_late);
  void take_over(Thread& thread, std::size_t at, std::size_t index, bool acquire);
  void note_load(Thread& thread, std::size_t at, bool may_be_late);
  void may_switch();
  void put_off(Thread& thread, std::size_t location);
  void wake(std::size_t location);
  void rest(State state);
  void may_die(Thread& thread);
  void die(Thread& thread, bool killed);
  bool lose(Thread& thread);
  void fail(const std::string& text);
  void note(const char* what, std::size_t location, std::uint64_t bits, Place place,
            const char* more = "");

  const Scenario* scenario_ = nullptr;
  Memory memory_;
  std::array<Thread, kMaxThreads> threads_;
  int current_ = -1;  // the thread that runs, -1 outside of executions
  Path path_;
  View fenced_;  // what full fences have seen
  Causes fence_causes_;
  std::vector<Load> fences_;
  std::uint32_t kill_at_ = 0;
  std::uint32_t kill_way_ = 0;
  std::uint32_t kill_ways_ = 0;  // of this place
  bool was_killed_ = false;
  bool was_killed_ever_ = false;  // in any execution with this place
  bool is_counted_ = false;
  bool impossible_ = false;  // the way of the kill contradicts what others have seen
  bool all_orders_ = false;
  std::uint32_t most_preemptions_ = kNoBound;
  std::uint32_t preemptions_ = 0;
  int next_ = -1;  // with all orders: who goes on
  std::string failure_;
  bool tracing_ = false;
  std::string trace_;
};

[[nodiscard]] Explorer& explorer();

// Waits until `satisfied()`: looks once, and where the answer is no, other executions show the look
// that finds yes. (Without reduction it looks again when what it saw changes.) One that never comes
// is a failure.
template <typename Satisfied>
void await(Satisfied&& satisfied) {
  do {
    explorer().begin_poll();
  } while (explorer().end_poll(satisfied()));
}

inline void check(bool good, const char* text) { explorer().check(good, text); }

}  // namespace beeline::explore
