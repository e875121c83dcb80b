// The model itself: the small programs of the literature, with the outcomes that RC11 allows. Each
// is explored whole, and its set of outcomes must be exactly the given one.

#include "tests/explore/litmus.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "shm/words.h"
#include "tests/explore/explorer.h"
#include "tests/explore/segments.h"

namespace beeline::explore {

namespace {

using Word = shm::Atomic<std::uint64_t>;

std::byte* memory() { return segment("litmus", 256); }
Word& word(int i) { return *reinterpret_cast<Word*>(memory() + 8 * i); }
Word& x() { return word(0); }
Word& y() { return word(1); }
shm::WordArray<1>& copied_x() { return *reinterpret_cast<shm::WordArray<1>*>(memory()); }
std::uint64_t seen[9];

const char* const kEarly = "an error";  // the rule about early stores

struct Litmus {
  const char* name;
  std::vector<std::function<void()>> threads;
  int results;  // of `seen`
  std::set<std::string> outcomes;
};

std::vector<Litmus> programs_of_two() {
  return {
      {"store buffering, no fence",
       {[] { x().publish(1), seen[0] = y().observe(); },
        [] { y().publish(1), seen[1] = x().observe(); }},
       2,
       {"00", "01", "10", "11"}},
      {"store buffering, both fence",
       {[] { x().relaxed_store(1), shm::full_fence(), seen[0] = y().relaxed_load(); },
        [] { y().relaxed_store(1), shm::full_fence(), seen[1] = x().relaxed_load(); }},
       2,
       {"01", "10", "11"}},
      {"store buffering, one fence",
       {[] { x().relaxed_store(1), shm::full_fence(), seen[0] = y().relaxed_load(); },
        [] { y().relaxed_store(1), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "10", "11"}},
      {"message passing, relaxed",
       {[] { x().relaxed_store(1), y().relaxed_store(1); },
        [] { seen[0] = y().relaxed_load(), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "10", "11"}},
      {"message passing, published",
       {[] { x().relaxed_store(1), y().publish(1); },
        [] { seen[0] = y().observe(), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "11"}},
      {"message passing, not observed",
       {[] { x().relaxed_store(1), y().publish(1); },
        [] { seen[0] = y().relaxed_load(), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "10", "11"}},
      {"message passing, by fences",
       {[] { x().relaxed_store(1), shm::full_fence(), y().relaxed_store(1); },
        [] { seen[0] = y().relaxed_load(), shm::full_fence(), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "11"}},
  };
}

std::vector<Litmus> programs_of_one_word() {
  return {
      {"load buffering",
       {[] { seen[0] = x().relaxed_load(), y().relaxed_store(1); },
        [] { seen[1] = y().relaxed_load(), x().relaxed_store(1); }},
       2,
       {"00", "01", "10"}},
      {"load buffering, words of a message",
       {[] { copied_x().load_bytes(&seen[0], 8), y().relaxed_store(1); },
        [] {
          if ((seen[1] = y().relaxed_load()) == 1) x().relaxed_store(1);
        }},
       2,
       {kEarly}},
      {"load buffering, words of a message, published",
       {[] { copied_x().load_bytes(&seen[0], 8), y().publish(1); },
        [] {
          if ((seen[1] = y().observe()) == 1) x().relaxed_store(1);
        }},
       2,
       {"00", "01"}},
      {"coherence of two reads",
       {[] { x().relaxed_store(1), x().relaxed_store(2); },
        [] { seen[0] = x().relaxed_load(), seen[1] = x().relaxed_load(); }},
       2,
       {"00", "01", "02", "11", "12", "22"}},
  };
}

std::vector<Litmus> programs_of_more() {
  const auto store_x = [] { x().relaxed_store(1); };
  const auto store_y = [] { y().relaxed_store(1); };
  const auto read_both = [](int at, Word& first, Word& second) {
    seen[at] = first.observe();
    seen[at + 1] = second.observe();
  };
  return {
      {"causality through three threads",
       {[] { x().relaxed_store(1), y().publish(1); },
        [] { seen[0] = y().observe(), word(2).publish(seen[0]); },
        [] { seen[1] = word(2).observe(), seen[2] = x().relaxed_load(); }},
       3,
       {"000", "001", "100", "101", "111"}},
      {"independent reads of independent writes",
       {store_x, store_y, [read_both] { read_both(0, x(), y()); },
        [read_both] { read_both(2, y(), x()); }},
       4,
       {"0000", "0001", "0010", "0011", "0100", "0101", "0110", "0111", "1000", "1001", "1010",
        "1011", "1100", "1101", "1110", "1111"}},
      {"independent reads, both fence",
       {store_x, store_y,
        [] { seen[0] = x().relaxed_load(), shm::full_fence(), seen[1] = y().relaxed_load(); },
        [] { seen[2] = y().relaxed_load(), shm::full_fence(), seen[3] = x().relaxed_load(); }},
       4,
       {"0000", "0001", "0010", "0011", "0100", "0101", "0110", "0111", "1000", "1001", "1011",
        "1100", "1101", "1110", "1111"}},
  };
}

const char* const kNames[] = {"P0", "P1", "P2", "P3"};

void clear_memory() {
  std::memset(memory(), 0, 256);
  std::fill(std::begin(seen), std::end(seen), 9);
}

std::string outcome(int results) {
  std::string text;
  for (int i = 0; i < results; ++i) text += std::to_string(seen[i]);
  return text;
}

bool known_programs() {
  bool good = true;
  std::uint64_t executions = 0;
  auto all = programs_of_two();
  for (const auto& more : {programs_of_one_word(), programs_of_more()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  for (const Litmus& program : all) {
    std::set<std::string> found;
    Scenario scenario(program.name, "", "the model");
    scenario.set_up = clear_memory;
    for (std::size_t i = 0; i < program.threads.size(); ++i) {
      scenario.threads.push_back({kNames[i], program.threads[i]});
    }
    scenario.judge = [&] { found.insert(outcome(program.results)); };
    const Result result = explorer().explore(scenario, 100'000);
    executions += result.executions;
    if (!result.failure.empty()) found = {kEarly};
    if (found == program.outcomes) continue;
    good = false;
    std::printf("FAILED litmus: %s: %s", program.name, result.failure.c_str());
    for (const std::string& text : found) {
      if (program.outcomes.count(text) == 0) std::printf(" %s is forbidden", text.c_str());
    }
    for (const std::string& text : program.outcomes) {
      if (found.count(text) == 0) std::printf(" %s is missing", text.c_str());
    }
    std::printf("\n");
  }
  std::printf("%zu litmus programs, %llu executions: %s\n", all.size(),
              static_cast<unsigned long long>(executions),
              good ? "the model allows what RC11 does, and nothing else" : "WRONG");
  return good;
}

// A step of a random program. Threads store to two words of their own and load from all.
struct Step {
  enum { kStore, kPublish, kLoad, kObserve, kFence } what;
  int word;
  int value;   // the value that is stored
  int result;  // the place in `seen` of the loaded value
};
constexpr int kSteps[] = {0, 0, 3, 2};  // of each thread, when there are so many threads

void run_steps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (step.what == Step::kStore) word(step.word).relaxed_store(step.value);
    if (step.what == Step::kPublish) word(step.word).publish(step.value);
    if (step.what == Step::kLoad) seen[step.result] = word(step.word).relaxed_load();
    if (step.what == Step::kObserve) seen[step.result] = word(step.word).observe();
    if (step.what == Step::kFence) shm::full_fence();
  }
}

// The reduction loses nothing: for random programs the explorer finds exactly the outcomes of all
// orders of all steps.
bool random_programs(int count) {
  std::minstd_rand random(1);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  std::uint64_t reduced = 0;
  std::uint64_t all = 0;
  bool good = true;
  for (int i = 0; i < count; ++i) {
    const int threads = 2 + below(2);
    int results = 0;
    std::vector<std::vector<Step>> steps(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      for (int step = 0; step < kSteps[threads]; ++step) {
        auto& own = steps[static_cast<std::size_t>(thread)];
        own.push_back({static_cast<decltype(Step::what)>(below(5)), 0, step + 1, 0});
        const bool stores = own.back().what <= Step::kPublish;
        own.back().word = stores ? 2 * thread + below(2) : below(2 * threads);
        if (own.back().what == Step::kLoad || own.back().what == Step::kObserve) {
          own.back().result = results++;
        }
      }
    }
    std::set<std::string> found;
    Scenario scenario("random", "", "the reduction");
    scenario.set_up = clear_memory;
    for (int thread = 0; thread < threads; ++thread) {
      const auto& own = steps[static_cast<std::size_t>(thread)];
      scenario.threads.push_back({kNames[thread], [&own] { run_steps(own); }});
    }
    scenario.judge = [&] { found.insert(outcome(results)); };
    reduced += explorer().explore(scenario, 1'000'000).executions;
    const std::set<std::string> with_reduction = std::exchange(found, {});
    all += explorer().explore_all_orders(scenario, 10'000'000).executions;
    if (found == with_reduction) continue;
    std::printf("FAILED litmus: random program %d has %zu outcomes, the explorer finds %zu\n", i,
                found.size(), with_reduction.size());
    good = false;
  }
  std::printf("%d random programs: %llu executions instead of %llu, the same outcomes%s\n", count,
              static_cast<unsigned long long>(reduced), static_cast<unsigned long long>(all),
              good ? "" : ": WRONG");
  return good;
}

}  // namespace

bool litmus(int programs) {
  const bool known = known_programs();
  return random_programs(programs) && known;
}

}  // namespace beeline::explore
