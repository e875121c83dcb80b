#pragma once
// Common parts of the sweeps of failing system calls: the watchdog that names a hanging case, the
// run under the filter, an agent that stays, and the look for leftovers.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tests/fault/leak_watch.h"
#include "tests/fault/syscall_sweep.h"
#include "tests/support/hive_test.h"
#include "tests/support/program.h"
#include "tests/support/soak.h"

namespace beeline::test {

class SyscallTest : public testing::Test {
 protected:
  void SetUp() override {
    watchdog_.emplace(is_soak() ? 1500s : 600s, [this] {
      if (sweep_ != nullptr) std::cerr << "hangs in " << sweep_->where() << std::endl;
      if (hive_) hive_->kill_all();
    });
  }
  void TearDown() override { watchdog_.reset(); }

  // Runs `body` under the filter and prints the table of its sweeps.
  void run_filtered(std::uint64_t least_injected, const std::function<void(SyscallSweep&)>& body) {
    Injector injector;
    SyscallSweep sweep(injector);
    sweep_ = &sweep;
    const auto why_not = injector.run([&] { body(sweep); });
    sweep_ = nullptr;
    if (why_not) GTEST_SKIP() << *why_not;
    std::cout << sweep.table();
    EXPECT_TRUE(injector.unknown().empty()) << "errno_table.cc does not know these calls: "
                                            << testing::PrintToString(injector.unknown());
    if (!HasFailure()) {
      EXPECT_GE(sweep.injected(), least_injected);
    }
  }

  // Sweeps with a hive under the filter, and an agent that stays.
  void sweep_hive(std::uint64_t least_injected, const std::function<void(SyscallSweep&)>& body) {
    run_filtered(least_injected, [&](SyscallSweep& sweep) {
      hive_.emplace();
      coordinator_ = process();
      far_ = attach("far");
      if (far_) body(sweep);
      far_.reset();
      expect_balance_of_all(*hive_);
      hive_->close();
      hive_.reset();
    });
  }

  // Sweeps an operation after one run without failures, because only a first run makes some things.
  // The check looks for leftovers.
  void sweep_alike(SyscallSweep& sweep, const Operation& operation, Leftovers slack = {}) {
    if (HasFailure()) return;
    watch_ = {.slack = slack};
    if (operation.prepare) operation.prepare();
    operation.check(operation.act());
    sweep.run(operation);
  }

  // The process of the present coordinator.
  [[nodiscard]] pid_t process() const {
    return static_cast<pid_t>(hive_->status().coordinator_pid);
  }

  // All leftovers of the operation and of ended agents are gone. Meanwhile `caller` receives,
  // because an agent that makes no call reads no announcements.
  void await_as_before() { await_as_before(*far_); }
  void await_as_before(Agent& caller) { watch_.await(caller, hive_->keeper(), coordinator_); }

  std::vector<std::string> taken_by_far() {
    drain_what_fits(*far_);
    return take_texts(*far_);
  }

  // Delivered once, if its send has succeeded; `far_` may have to come back to the coordinator
  // first.
  void expect_delivered(const std::string& text, const Ending& ending) {
    std::vector<std::string> texts;
    if (ending) {
      texts = taken_by_far();
    } else {
      drain_until(*far_, [&] { return !(texts = take_texts(*far_)).empty(); });
    }
    EXPECT_EQ(std::count(texts.begin(), texts.end(), text), ending ? 0 : 1) << "times delivered";
  }

  // How long a guest waits for the coordinator.
  static constexpr std::chrono::nanoseconds kHasty = 3s;
  // `late`: the end of the sender's patience. The status alone does not show that it is over.
  static Ending ending_of(const SendResult& sent, Deadline late = Deadline::max()) {
    if (sent) return std::nullopt;
    if (sent.status == SendStatus::kNoRoute && std::chrono::steady_clock::now() >= late) {
      return Error{ErrorCode::kTimeout, 0, "send: the coordinator did not answer in time"};
    }
    return Error{ErrorCode::kSystem, 0, std::string("send: ") + to_string(sent.status).data()};
  }

  // The ending of a tool.
  static Ending ending_of(const Outcome& outcome) {
    EXPECT_LT(outcome.code, 126) << "it crashed: " << outcome.err;
    if (outcome.code == 0) return std::nullopt;
    // The findings of `beeline doctor` are its answer.
    return Error{ErrorCode::kSystem, 0, outcome.err.empty() ? outcome.out : outcome.err};
  }

  std::optional<ScratchHive> hive_;
  pid_t coordinator_ = 0;
  std::optional<Watchdog> watchdog_;
  SyscallSweep* sweep_ = nullptr;
  std::optional<Agent> far_;
  LeakWatch watch_;
  std::string text_;
};

}  // namespace beeline::test
