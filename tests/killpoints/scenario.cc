#include "tests/killpoints/scenario.h"

#include <algorithm>
#include <sstream>

#include "tests/killpoints/rig_clock.h"

namespace beeline::killpoints {
namespace {

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> found;
    for (auto some :
         {sender_operations(), receiver_operations(), other_operations(), history_operations()}) {
      for (Operation& operation : some) found.push_back(std::move(operation));
    }
    return found;
  }();
  return all;
}

const Base& base_named(const std::string& name) {
  const auto found = std::find_if(bases().begin(), bases().end(),
                                  [&](const Base& base) { return name == base.name; });
  if (found == bases().end()) throw RigError{"there is no base " + name};
  return *found;
}

const Operation& operation_named(const std::string& name) {
  const auto found = std::find_if(operations().begin(), operations().end(),
                                  [&](const Operation& other) { return name == other.name; });
  if (found == operations().end()) throw RigError{"there is no operation " + name};
  return *found;
}

// `knows_stamps`: slabs were finished before, so no operation makes system calls for stamps.
std::unique_ptr<Rig> prepare(const Base& base, bool knows_stamps) {
  reset_clock();
  auto rig = std::make_unique<Rig>(base.options);
  if (knows_stamps) rig->send_and_finish({.length = 300});
  base.prepare(*rig);
  return rig;
}

Pair pair_of(const std::string& sender, const std::string& receiver, const std::string& base) {
  return {sender + "+" + receiver + "/" + base, &base_named(base), &operation_named(sender),
          &operation_named(receiver)};
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> found;
    for (const Operation& operation : operations()) {
      std::istringstream names(operation.bases);
      for (std::string name; names >> name;) {
        const bool is_long = name.back() == '*';
        if (is_long) name.pop_back();
        found.push_back({operation.name + "/" + name, &base_named(name), &operation, is_long});
      }
    }
    return found;
  }();
  return all;
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all = [] {
    std::vector<Pair> found;
    // finish-all begins with the drain and the cycle, so its pairs have nearly all of their states.
    for (const char* base : {"half", "wrapped", "mixed", "handed-over", "fifo"}) {
      for (const char* sender : {"send-inline", "send-slab", "send-urgent"}) {
        for (const char* receiver : {"drain", "cycle", "finish-all"}) {
          found.push_back(pair_of(sender, receiver, base));
          found.back().is_long = std::string_view(receiver) != "finish-all";
        }
      }
    }
    for (const char* sender : {"send-inline", "send-urgent"}) {
      for (const char* base : {"half", "handed-over"}) {
        found.push_back(pair_of(sender, "take-alone", base));
      }
    }
    for (const char* base : {"half", "handed-over"}) {
      found.push_back(pair_of("send-slab", "take-alone-slab", base));
    }
    found.push_back(pair_of("send-inline", "take-answer-alone", "empty"));
    return found;
  }();
  return all;
}

const std::vector<Standstill>& standstills() {
  static const std::vector<Standstill> all = [] {
    std::vector<Standstill> found;
    for (const Operation& paused : operations()) {
      if (!paused.meets_peer) continue;
      const bool sends = paused.actor == Actor::kSender;
      const Operation& other = operation_named(sends ? "finish-all" : "send-inline");
      const std::string base = paused.bases.substr(0, paused.bases.find(' '));
      const std::string name = paused.name + "~" + other.name + "/" + base;
      const Operation& receiver = sends ? other : paused;
      found.push_back({{name, &base_named(base), sends ? &paused : &other, &receiver}, &paused});
    }
    return found;
  }();
  return all;
}

bool is_for_long_form(std::string_view name) {
  const auto is_it = [&](const auto& one) { return one.name == name && one.is_long; };
  return std::any_of(scenarios().begin(), scenarios().end(), is_it) ||
         std::any_of(pairs().begin(), pairs().end(), is_it);
}

namespace {

// A copy of a short payload also copies stack bytes below us; they must be the same each time.
[[gnu::noinline]] void clear_stack() {
  volatile std::byte below[16'384];
  for (volatile std::byte& byte : below) byte = std::byte{0};
}

}  // namespace

std::uint64_t step_through(const Operation& operation, Rig& rig, StepObserver& observer) {
  struct Call {
    const Operation& operation;
    Rig& rig;
  } call{operation, rig};
  clear_stack();
  return step_through(
      [](void* context) {
        const Call& what = *static_cast<Call*>(context);
        what.operation.operate(what.rig);
      },
      &call, observer);
}

std::unique_ptr<Rig> arrange(const Scenario& scenario) {
  auto rig = prepare(*scenario.base, false);
  tick();
  scenario.operation->arrange(*rig);
  tick();
  return rig;
}

std::unique_ptr<Rig> arrange(const Pair& pair) {
  auto rig = prepare(*pair.base, true);
  tick();
  pair.receiver->arrange(*rig);
  pair.sender->arrange(*rig);
  tick();
  return rig;
}

}  // namespace beeline::killpoints
