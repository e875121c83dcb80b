// Real kills: processes that step through the operation on the real segments and send themselves
// SIGKILL in the middle.
//
// One process, the walker, steps through the operation from its entry. Before each chosen
// instruction
// it forks. The child has the same registers, stack, heap and segments; it retires that instruction
// and kills itself. To the last byte, it must leave the state before the instruction or the next
// one
// that the sweep has seen. The first kill that leaves a state is judged as well. Then the walker
// restores the bytes and retires the instruction itself. So a kill costs one fork, however long the
// way to it is.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "tests/killpoints/rig_clock.h"
#include "tests/killpoints/shared.h"
#include "tests/killpoints/sweep.h"

namespace beeline::killpoints {
namespace {

// Seconds; far more than any scenario takes.
constexpr unsigned kWalkerPatience = 900;

// Messages between walker and judge. Each one that has sent a byte waits for one.
struct Desk {
  std::uint64_t kills = 0;
  std::uint64_t steps = 0;  // of the walker, once it has come to its end
  std::uint64_t step = 0;   // of the kill that is to be judged
  const char* wrong = "";   // a literal that both processes have
  bool is_over = false;     // the walker has come to its end
  bool judged[StateRecorder::kMostStates] = {};
};

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw RigError{"there is no pipe"};
  }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void send() const {
    const char byte = 0;
    (void)(::write(ends_[1], &byte, 1) == 1);
  }
  // False if no sender is left.
  [[nodiscard]] bool wait() const {
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

struct Talk {
  Shared<Desk> desk;
  Pipe to_judge;
  Pipe to_walker;
};

// Runs in the handler of SIGTRAP: no allocation, no lock.
class Walker : public StepObserver {
 public:
  // Kills at `most` instructions, spread evenly.
  Walker(const Image& own, const StateRecorder& recorder, std::uint64_t most, Talk& talk)
      : own_(own), recorder_(recorder), most_(most), talk_(talk) {}

  void start() override { kill_after(1); }
  void after(std::uint64_t step, std::uintptr_t /*at*/) override {
    if (is_victim_) ::kill(::getpid(), SIGKILL);
    if (is_past_end_) end("a process that was to be killed came to its end", step);
    kill_after(step + 1);
  }
  void finish(std::uint64_t steps) override {
    if (is_victim_) ::_exit(kPastEnd);
    talk_.desk->steps = steps;
    end("", steps);
  }

 private:
  static constexpr int kPastEnd = 3;

  // Whether this instruction is one of `most`, spread evenly.
  [[nodiscard]] bool is_chosen(std::uint64_t step) const {
    return most_ >= recorder_.steps() || 1 + next_ * recorder_.steps() / most_ == step;
  }
  // Forks a process that is killed after instruction `step`, if that is chosen, and returns in
  // both. The walker has retired the instructions before.
  void kill_after(std::uint64_t step) {
    if (!is_chosen(step)) return;
    ++next_;
    // Found by its bytes, because an operation that finds the recorder's memory allocated takes a
    // few instructions more or less.
    while (!own_.equals(recorder_.bytes(state_))) {
      if (++state_ == recorder_.count()) end("a state that the sweep has not seen", step);
    }
    const pid_t victim = ::_Fork();
    if (victim == 0) {
      is_victim_ = true;
      return;
    }
    int status = 0;
    if (victim < 0 || ::waitpid(victim, &status, 0) != victim) end("no process can be made", step);
    is_past_end_ = WIFEXITED(status) && WEXITSTATUS(status) == kPastEnd;
    if (is_past_end_) return;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      end("the process was not killed there, it ended otherwise", step);
    }
    ++talk_.desk->kills;
    look_at_what_is_left(step);
  }
  // It must be the state before the instruction, or the next one of the sweep.
  void look_at_what_is_left(std::uint64_t step) {
    std::size_t left = state_;
    if (!own_.equals(recorder_.bytes(left))) ++left;
    if (left == recorder_.count() || !own_.equals(recorder_.bytes(left))) {
      end("the kill has left a state that the sweep has not seen there", step);
    }
    const bool is_new = !talk_.desk->judged[left];
    if (is_new) {
      talk_.desk->judged[left] = true;
      talk_.desk->step = step;
      talk_.to_judge.send();
      if (!talk_.to_walker.wait()) ::_exit(1);
    }
    if (is_new || left != state_) own_.load(recorder_.bytes(state_));
  }

  [[noreturn]] void end(const char* wrong, std::uint64_t step) {
    talk_.desk->wrong = wrong;
    talk_.desk->step = step;
    talk_.desk->is_over = true;
    talk_.to_judge.send();
    ::_exit(0);
  }

  const Image& own_;
  const StateRecorder& recorder_;
  std::uint64_t most_;
  Talk& talk_;
  std::uint64_t next_ = 0;  // of the kills
  std::size_t state_ = 0;   // the present state of the walker
  bool is_past_end_ = false;
  bool is_victim_ = false;
};

// A child steps through the operation. All children start alike, to the last byte of stack and heap
// and the last descriptor, so they take the same steps. Between two of them their parent allocates
// and opens nothing.
[[gnu::noinline]] pid_t step_in_child(Rig& rig, const Operation& operation,
                                      StepObserver& observer) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(kWalkerPatience);
  step_through(operation, rig, observer);
  ::_exit(0);
}

// A scenario, and everything that is needed to judge the states after its kills.
class Killing {
 public:
  explicit Killing(const Scenario& scenario)
      : scenario_(scenario),
        rig_(arrange(scenario)),
        own_(image_of_actor(*rig_, scenario.operation->actor)),
        all_(rig_->world.image()),
        initial_(all_.saved()),
        before_(rig_->ledger.fates()),
        recorder_(own_) {}

  void kill(std::uint64_t most, Tally& tally);

 private:
  // The walker has reached a state that no kill has left before.
  void judge(std::uint64_t step, Tally& tally);
  void violate(std::uint64_t step, const std::string& wrong, Tally& tally) const {
    const State& state = recorder_.state(recorder_.at_step(step));
    tally.violate(scenario_.name, "real kill", step, state.at, wrong);
  }

  const Scenario& scenario_;
  std::unique_ptr<Rig> rig_;
  Image own_;
  Image all_;
  std::vector<std::byte> initial_;
  Fates before_;
  Talk talk_;
  StateRecorder recorder_;
};

void Killing::judge(std::uint64_t step, Tally& tally) {
  if (scenario_.operation->actor == Actor::kCoordinator) return;
  if (rig_->annals) {
    std::uint64_t head = 0;
    const auto wrong = rig_->annals->judge(head);
    if (!wrong.empty()) violate(step, wrong, tally);
    return;
  }
  const bool sender_died = scenario_.operation->actor == Actor::kSender;
  const auto wrong = judge_next_receiver(*rig_, before_, !sender_died).text;
  if (!wrong.empty()) violate(step, wrong, tally);
  all_.load(initial_.data());
}

// SUBTLE: both children are made here, so that their stacks lie at the same addresses: the number
// of instructions of a copy by the C library depends on them.
void Killing::kill(std::uint64_t most, Tally& tally) {
  const pid_t first = step_in_child(*rig_, *scenario_.operation, recorder_);
  if (first < 0) return violate(0, "no process can be made", tally);
  ::waitpid(first, nullptr, 0);
  own_.load(recorder_.bytes(0));
  Walker walker(own_, recorder_, most, talk_);
  const pid_t child = step_in_child(*rig_, *scenario_.operation, walker);
  if (child < 0) return violate(0, "no process can be made", tally);
  talk_.to_judge.close_writer();
  while (talk_.to_judge.wait() && !talk_.desk->is_over) {
    judge(talk_.desk->step, tally);
    talk_.to_walker.send();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string_view wrong =
      talk_.desk->is_over ? talk_.desk->wrong : "the process that is stepped crashes";
  if (!wrong.empty()) violate(talk_.desk->step, std::string(wrong), tally);
  tally.kills = talk_.desk->kills;
  tally.whole = tally.kills == talk_.desk->steps ? 1 : 0;
}

}  // namespace

Tally kill_in_scenario(const Scenario& scenario, std::uint64_t most) {
  Tally tally;
  const double start = cpu_seconds();
  Killing(scenario).kill(most, tally);
  tally.seconds = cpu_seconds() - start;
  return tally;
}

}  // namespace beeline::killpoints
