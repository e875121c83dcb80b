// Enumerates executions: threads, choices, kills. The effect of an access is in accesses.cc.

#include "tests/explore/explorer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace beeline::explore {

Explorer& explorer() {
  static Explorer one;
  return one;
}

Result Explorer::explore(const Scenario& scenario, std::uint64_t most) {
  Result result;
  scenario_ = &scenario;
  if (scenario.victim < 0) {
    kill_at_ = 0;
    explore_kill(scenario, most, result);
    return result;
  }
  // The first place is before the first step; the last one is after the victim's own end.
  for (kill_at_ = 1; result.failure.empty() && result.exhaustive; ++kill_at_) {
    bool killed = false;
    for (kill_way_ = 0, kill_ways_ = 1; kill_way_ < kill_ways_; ++kill_way_) {
      const std::uint64_t before = result.executions;
      explore_kill(scenario, most, result);
      if (!result.failure.empty() || !result.exhaustive) return result;
      killed = killed || was_killed_ever_;
      if (result.executions != before) ++result.kills;
    }
    if (!killed) break;
  }
  return result;
}

Result Explorer::explore_all_orders(const Scenario& scenario, std::uint64_t most,
                                    std::uint32_t preemptions) {
  all_orders_ = true;
  most_preemptions_ = preemptions;
  const Result result = explore(scenario, most);
  all_orders_ = false;
  return result;
}

void Explorer::explore_kill(const Scenario& scenario, std::uint64_t most, Result& result) {
  path_.clear();
  was_killed_ever_ = false;
  do {
    if (result.executions + result.redundant >= most) {
      result.exhaustive = false;
      return;
    }
    run_once(scenario);
    if (!failure_.empty()) {
      result.failure = failure_;
      tracing_ = true;
      trace_.clear();
      run_once(scenario);
      tracing_ = false;
      result.trace = trace_;
      return;
    }
    ++(is_counted_ ? result.executions : result.redundant);
    was_killed_ever_ = was_killed_ever_ || was_killed_;
  } while (path_.advance());
}

void Explorer::run_once(const Scenario& scenario) {
  start(scenario);
  run_threads();
  is_counted_ = failure_.empty() && is_complete(scenario) && !impossible_;
  current_ = -1;
  if (is_counted_ && scenario.judge) scenario.judge();
}

void Explorer::start(const Scenario& scenario) {
  failure_.clear();
  path_.restart();
  memory_.clear();
  fenced_.clear();
  fence_causes_ = {};
  fences_.clear();
  was_killed_ = impossible_ = false;
  preemptions_ = 0;
  const std::uint32_t nothing = memory_.keep(View());
  for (std::size_t i = 0; i < scenario.threads.size(); ++i) {
    Thread& thread = threads_[i];
    thread.state = State::kReady;
    thread.now.clear();
    thread.acquired.clear();
    thread.released = nothing;
    thread.causes = {};
    thread.polls = thread.is_dead = false;
    thread.watched.clear();
    thread.unfenced.clear();
    thread.reads = 0;
    thread.steps_to_kill = static_cast<int>(i) == scenario.victim ? kill_at_ : 0;
    thread.body = [this, &scenario, i] {
      scenario.threads[i].body();
      Thread& own = threads_[i];
      find_plain_stores(own);
      may_die(own);
      die(own, false);
    };
    thread.fiber.prepare(thread.body);
  }
  current_ = -1;
  scenario.set_up();
}

void Explorer::run_threads() {
  next_ = -1;
  while (failure_.empty() && find_next())
    threads_[static_cast<std::size_t>(current_)].fiber.enter();
}

// Threads influence each other only at the choices, so they may run in any order.
bool Explorer::find_next() {
  current_ = std::exchange(next_, -1);
  if (current_ >= 0) return true;
  std::array<int, kMaxThreads> ready{};
  std::uint32_t count = 0;
  for (int i = 0; i < static_cast<int>(scenario_->threads.size()); ++i) {
    if (threads_[static_cast<std::size_t>(i)].state == State::kReady) ready[count++] = i;
  }
  if (count == 0) return false;
  current_ = ready[all_orders_ ? path_.choose(count) : 0];
  return true;
}

bool Explorer::is_complete(const Scenario& scenario) {
  const Thread* stuck = nullptr;
  for (std::size_t i = 0; i < scenario.threads.size(); ++i) {
    const Thread& thread = threads_[i];
    // The awaited store did not come: the execution without the wait shows all.
    if (thread.state == State::kAsleep) return false;
    if (thread.state == State::kEnded) continue;
    stuck = &thread;
    if (thread.state != State::kPolling) continue;
    const bool all_latest = std::all_of(
        thread.polled.begin(), thread.polled.end(),
        [this](const Read& read) { return memory_[read.location].last_kept() == read.index; });
    if (!all_latest) return false;  // it looks again, and sees more
  }
  if (stuck == nullptr) return true;
  const auto index = static_cast<std::size_t>(stuck - threads_.data());
  failure_ = std::string(scenario.threads[index].name) +
             (stuck->state == State::kPolling ? " waits for ever: what it polls for never comes"
                                              : " sleeps for ever: nobody rings");
  return false;
}

void Explorer::may_switch() {
  if (!all_orders_ || preemptions_ == most_preemptions_) return;
  std::array<int, kMaxThreads> ready{current_};
  std::uint32_t count = 1;
  for (int i = 0; i < static_cast<int>(scenario_->threads.size()); ++i) {
    const bool is_ready = threads_[static_cast<std::size_t>(i)].state == State::kReady;
    if (i != current_ && is_ready) ready[count++] = i;
  }
  const std::uint32_t pick = path_.choose(count);
  if (pick == 0) return;
  ++preemptions_;
  next_ = ready[pick];
  rest(State::kReady);
}

void Explorer::rest(State state) {
  Thread& thread = self();
  thread.state = state;
  thread.fiber.leave();
}

// Until another thread stores to the location, or fences.
void Explorer::put_off(Thread& thread, std::size_t location) {
  thread.waits_for = location;
  rest(State::kAsleep);
}

void Explorer::wake(std::size_t location) {
  for (Thread& thread : threads_) {
    const bool waits = thread.state == State::kAsleep || thread.state == State::kBlocked;
    if (waits && thread.waits_for == location) thread.state = State::kReady;
    const bool polls = all_orders_ && thread.state == State::kPolling;
    const auto saw = [location](const Read& read) { return read.location == location; };
    if (polls && std::any_of(thread.polled.begin(), thread.polled.end(), saw)) {
      thread.state = State::kReady;
    }
  }
}

// A victim may be killed before each step that others can notice, and after its last one.
void Explorer::may_die(Thread& thread) {
  find_plain_stores(thread);
  if (thread.steps_to_kill != 0 && --thread.steps_to_kill == 0) die(thread, true);
}

void Explorer::die(Thread& thread, bool killed) {
  if (killed) {
    was_killed_ = true;
    note("is killed", 0, 0, {}, kill_way_ == 0 ? "" : "before all that it stored took place");
    kill_ways_ = std::max<std::uint32_t>(
        kill_ways_, 1 + 2 * static_cast<std::uint32_t>(thread.unfenced.size()));
    if (kill_way_ != 0 && !lose(thread)) impossible_ = true;
  }
  thread.is_dead = true;
  wake(kDeath);
  rest(State::kEnded);
}

// Takes back stores that no fence kept before the kill: one of them with the stores that a publish
// holds behind it, or all from one on. False if that is impossible.
bool Explorer::lose(Thread& thread) {
  const std::size_t from = (kill_way_ - 1) / 2;
  const bool all = (kill_way_ - 1) % 2 == 1;
  if (from >= thread.unfenced.size()) return false;
  std::vector<Read> lost;
  for (std::size_t i = from; i < thread.unfenced.size(); ++i) {
    const Read& read = thread.unfenced[i];
    const Store& store = memory_[read.location].stores[read.index];
    const bool same_word = std::any_of(lost.begin(), lost.end(), [&](const Read& other) {
      return other.location == read.location;
    });
    if (i != from && !all && !store.release && !same_word) continue;
    if (store.seen) return false;
    lost.push_back(read);
  }
  for (const Read& read : lost) memory_[read.location].stores[read.index].lost = true;
  for (const Read& read : lost) {
    Location& location = memory_[read.location];
    const std::size_t last = location.last_kept();
    thread.now.set(read.location, last);
    std::memcpy(location.at, &location.stores[last].bits, location.size);
    note("  lost", read.location, location.stores[read.index].bits, {});
  }
  return true;
}

void Explorer::wait_for_death(int thread) {
  while (!threads_[static_cast<std::size_t>(thread)].is_dead) {
    self().waits_for = kDeath;
    rest(State::kBlocked);
  }
  // The kernel proves the death after all actions of the dead thread.
  const Thread& dead = threads_[static_cast<std::size_t>(thread)];
  self().now.join(dead.now);
  self().causes.join(dead.causes);
  note("learns of a death", 0, 0, {}, scenario_->threads[static_cast<std::size_t>(thread)].name);
}

void Explorer::begin_poll() {
  self().polls = true;
  self().polled.clear();
}

bool Explorer::end_poll(bool satisfied) {
  self().polls = false;
  if (satisfied) return false;
  rest(State::kPolling);
  return true;
}

void Explorer::check(bool good, const char* text) {
  if (!good) fail(text);
}

void Explorer::fail(const std::string& text) {
  if (failure_.empty()) failure_ = text;
  if (current_ >= 0) rest(State::kEnded);
}

}  // namespace beeline::explore
