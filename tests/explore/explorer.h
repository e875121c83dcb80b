#pragma once
// Runs a scenario through every execution that the memory model allows.
//
// A thread runs until it must wait. A load may read any store that the thread's view allows. If it
// could have read a later store instead, the execution is repeated with the load delayed until that
// store exists. Two executions that differ only in the order of independent steps are one. There is
// no bound on preemptions: a scenario is explored whole, or the run says that it was not.
//
// A victim is killed at each of its steps in turn. It leaves the stores that its instruction stream
// had retired, in program order; stores that no publish and no fence keeps apart may come in any
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
  std::string bound;  // the number of things that meet; nothing else bounds the exploration
  const char* proves;
  std::function<void()> set_up;  // before each execution; nothing is explored in it
  std::vector<ModelThread> threads;
  std::function<void()> judge;  // after each execution that ended; checks the final state
  int victim = -1;              // the thread that is killed at each of its steps
  std::uint64_t least = 1;      // with fewer executions the scenario has lost its meaning
  // Also explored without reduction, in all orders with at most this many preemptions.
  std::uint32_t preemptions = 0;
};

struct Result {
  std::uint64_t executions = 0;  // ended, judged, all different
  std::uint64_t redundant = 0;   // given up, because another one shows the same
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
  // interrupted at most `preemptions` times. Slow; it shows that the reduction loses nothing.
  static constexpr std::uint32_t kNoBound = UINT32_MAX;
  [[nodiscard]] Result explore_all_orders(const Scenario& scenario, std::uint64_t most,
                                          std::uint32_t preemptions = kNoBound);

  // The accesses of the words of shm/ and the model of the kernel (atomic.h, kernel.h).
  [[nodiscard]] std::uint64_t load(const void* at, std::size_t size, Order order, Place place);
  void store(void* at, std::size_t size, std::uint64_t bits, Order order, Place place);
  void full_fence(Place place);
  void crash_fence(Place place);
  // A counter of the kernel, raised and read under the kernel's lock.
  void kernel_add(std::uint64_t& word);
  // Waits until it is above `taken` and returns it.
  [[nodiscard]] std::uint64_t kernel_wait(std::uint64_t& word, std::uint64_t taken);

  // Calls of scenarios. Plain memory that only this thread writes: its stores are found by
  // comparing. `shared`: other threads read it with read_plain(), and a race on it is a failure.
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
    kPolling,  // its poll found nothing
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
    View now;                    // the stores that it can no longer miss
    View acquired;               // the stores that its relaxed loads saw: known after its next full
                                 // fence
    std::uint32_t released = 0;  // its view at its last full fence: its relaxed stores carry it
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
  // Sets the thread that goes on; false if none can.
  [[nodiscard]] bool find_next();
  // Whether an execution that has come to rest is to be judged.
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
  View fenced_;  // the view of all full fences
  Causes fence_causes_;
  std::vector<Load> fences_;
  std::uint32_t kill_at_ = 0;
  std::uint32_t kill_way_ = 0;
  std::uint32_t kill_ways_ = 0;  // of this place
  bool was_killed_ = false;
  bool was_killed_ever_ = false;  // in any execution with this place
  bool is_counted_ = false;
  bool impossible_ = false;  // the way of the kill contradicts the loads of others
  bool all_orders_ = false;
  std::uint32_t most_preemptions_ = kNoBound;
  std::uint32_t preemptions_ = 0;
  int next_ = -1;  // with all orders: the thread that goes on
  std::string failure_;
  bool tracing_ = false;
  std::string trace_;
};

[[nodiscard]] Explorer& explorer();

// Waits until `satisfied()`. It looks once; if the answer is no, other executions show the look
// that succeeds. (Without reduction it looks again when its view changes.) A condition that never
// holds is a failure.
template <typename Satisfied>
void await(Satisfied&& satisfied) {
  do {
    explorer().begin_poll();
  } while (explorer().end_poll(satisfied()));
}

inline void check(bool good, const char* text) { explorer().check(good, text); }

}  // namespace beeline::explore
