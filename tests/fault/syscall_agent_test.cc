// Every system call of an agent fails once. Each operation ends with success or with an error that
// gives the reason, leaks nothing, leaves nothing half done, and succeeds when it is repeated.

#include <signal.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "src/os/event_fd.h"
#include "tests/fault/sleeper.h"
#include "tests/fault/syscall_fixture.h"
#include "tests/support/status_probe.h"

namespace beeline::test {
namespace {

constexpr std::size_t kLarge = 1U << 20;

class SyscallAgentTest : public SyscallTest {
 protected:
  void SetUp() override {
    hive_.emplace();
    coordinator_ = hive_->coordinator();
    SyscallTest::SetUp();
  }
  void TearDown() override {
    if (hive_) expect_balance_of_all(*hive_);
    if (hive_) hive_->close();
    SyscallTest::TearDown();
    hive_.reset();
  }

  // Sweeps with `far_` attached.
  void sweep(std::uint64_t least_injected, const std::function<void(SyscallSweep&)>& body) {
    run_filtered(least_injected, [&](SyscallSweep& sweep) {
      far_ = attach("far");
      body(sweep);
      near_.reset();
      far_.reset();
    });
  }

  static AttachOptions near_options() {
    AttachOptions options = named("near");
    options.temporary = true;
    return options;
  }

  // `near_` leaves, and then everything is as before.
  void expect_as_before() {
    near_.reset();
    await_as_before();
  }

  void attach_near(const AttachOptions& options) {
    near_ = attach(options);
    text_ = fmt::format("message {}", ++messages_);
  }
  void attach_near() { attach_near(near_options()); }

  // `far_` has this message once if it was accepted, and not at all otherwise.
  void expect_delivery(const Ending& ending) {
    const std::vector<std::string> texts = taken_by_far();
    const auto count = std::count(texts.begin(), texts.end(), text_);
    EXPECT_EQ(count, ending ? 0 : 1) << "times delivered";
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(count)) << "something else was delivered";
  }
  void expect_sends_again() {
    text_ = fmt::format("message {}", ++messages_);
    const auto sent = near_->send_until(*near_->peer("far"), text_, patience());
    EXPECT_TRUE(sent) << "not sent afterwards: " << to_string(sent.status);
    expect_delivery({});
  }

  Operation attach_operation();
  Operation successor_operation();
  Operation first_send_operation();
  Operation loan_operation();
  Operation wait_operation();
  Operation full_operation();
  Operation event_operation();
  Operation detach_operation();
  Operation wake_operation(const Sleeper& sleeper);
  Operation request_operation();
  Operation resume_operation();

  std::optional<Agent> near_;
  std::uint64_t messages_ = 0;
};

Operation SyscallAgentTest::attach_operation() {
  return {.name = "attach",
          .least_calls = 40,
          .act = [this]() -> Ending {
            auto agent = Agent::attach(near_options());
            if (!agent) return agent.error();
            near_ = std::move(*agent);
            return {};
          },
          .check =
              [this](const Ending&) {
                if (!near_) near_ = attach_again(near_options());
                ASSERT_TRUE(near_);
                expect_sends_again();
                expect_as_before();
              }};
}

Operation SyscallAgentTest::successor_operation() {
  return {.name = "attach as a successor",
          .least_calls = 60,
          .prepare =
              [this] {
                auto first = attach("heir");
                ASSERT_TRUE(first);
                const std::string large(5000, 'x');
                for (const std::string& text : {std::string("one"), large, std::string("three")}) {
                  ASSERT_TRUE(far_->send("heir", text));
                }
                auto leased = next_message(*first);
                EXPECT_EQ(leased.text(), "one");
              },
          .act = [this]() -> Ending {
            auto agent = Agent::attach(named("heir"));
            if (!agent) return agent.error();
            near_ = std::move(*agent);
            return {};
          },
          .check =
              [this](const Ending&) {
                if (!near_) near_ = attach_again(named("heir"));
                ASSERT_TRUE(near_);
                drain_what_fits(*near_);
                const auto texts = take_texts(*near_);
                EXPECT_EQ(texts.size(), 3U) << "each message comes once to the successor";
                expect_balance(*near_);
                expect_as_before();
              },
          .short_step = 3};
}

Operation SyscallAgentTest::first_send_operation() {
  return {.name = "first send: opens the link",
          .least_calls = 15,
          .prepare = [this] { attach_near(); },
          .act = [this]() -> Ending { return ending_of(near_->send("far", text_)); },
          .check =
              [this](const Ending& ending) {
                expect_delivery(ending);
                expect_sends_again();
                expect_as_before();
              }};
}

Operation SyscallAgentTest::loan_operation() {
  return {.name = "large loan: more memory for the link",
          .least_calls = 4,
          .prepare =
              [this] {
                attach_near();
                ASSERT_TRUE(near_->peer("far"));
              },
          .act = [this]() -> Ending {
            auto loan = near_->loan(*near_->peer("far"), kLarge);
            if (!loan) return loan.error();
            std::memset(loan->bytes().data(), 'y', kLarge);
            std::memcpy(loan->bytes().data(), text_.data(), text_.size());
            return ending_of(near_->send(*loan));
          },
          .check =
              [this](const Ending& ending) {
                if (ending) {
                  expect_delivery(ending);
                } else {
                  auto message = next_message(*far_);
                  EXPECT_EQ(message.text().size(), kLarge);
                  EXPECT_TRUE(message.text().starts_with(text_));
                  message.done();
                }
                expect_sends_again();
                expect_as_before();
              }};
}

Operation SyscallAgentTest::wait_operation() {
  return {.name = "wait for a message",
          .least_calls = 4,
          .prepare = [this] { attach_near(); },
          .act = [this]() -> Ending {
            const auto none = near_->receive({.timeout = 6ms});
            EXPECT_FALSE(none);
            if (none.error().code == ErrorCode::kTimeout) return {};
            return none.error();
          },
          .check =
              [this](const Ending&) {
                EXPECT_TRUE(far_->send("near", "later"));
                EXPECT_EQ(next_message(*near_).text(), "later");
                expect_as_before();
              }};
}

Operation SyscallAgentTest::full_operation() {
  return {.name = "send_until to a full lane",
          .least_calls = 4,
          .prepare =
              [this] {
                attach_near();
                const Peer far = *near_->peer("far");
                while (near_->send(far, "filler")) {
                }
              },
          .act = [this]() -> Ending {
            const auto sent = near_->send_until(*near_->peer("far"), text_, after(6ms));
            EXPECT_FALSE(sent) << "nobody has made room";
            if (sent.status == SendStatus::kFull) return {};
            return ending_of(sent);
          },
          .check =
              [this](const Ending&) {
                const std::vector<std::string> texts = taken_by_far();
                EXPECT_EQ(std::count(texts.begin(), texts.end(), text_), 0);
                EXPECT_GE(std::count(texts.begin(), texts.end(), "filler"), 100);
                expect_sends_again();
                expect_as_before();
              }};
}

Operation SyscallAgentTest::event_operation() {
  return {.name = "attach with a rate, fd()",
          .least_calls = 45,
          .act = [this]() -> Ending {
            AttachOptions options = near_options();
            options.receive_rate = 1000;
            auto agent = Agent::attach(options);
            if (!agent) return agent.error();
            near_ = std::move(*agent);
            EXPECT_GE(near_->fd(), 0);
            EXPECT_FALSE(near_->try_receive());
            return {};
          },
          .check =
              [this](const Ending&) {
                if (!near_) near_ = attach_again(near_options());
                ASSERT_TRUE(near_);
                const int fd = near_->fd();
                while (near_->try_receive()) {
                }
                EXPECT_TRUE(far_->send("near", "rings"));
                std::optional<Message> message;
                for (int i = 0; i < 10 && !message; ++i) {
                  EXPECT_TRUE(os::wait_readable(fd, kPatience)) << "fd() was not rung";
                  message = near_->try_receive();
                }
                ASSERT_TRUE(message);
                EXPECT_EQ(message->text(), "rings");
                message->done();
                message.reset();
                expect_as_before();
              },
          .short_step = 3};
}

Operation SyscallAgentTest::detach_operation() {
  return {.name = "detach",
          .least_calls = 3,
          .prepare =
              [this] {
                attach_near();
                ASSERT_TRUE(near_->send("far", text_));
              },
          .act = [this]() -> Ending {
            (void)near_->detach(after(1ms));
            return {};
          },
          .check =
              [this](const Ending&) {
                expect_delivery({});
                near_.reset();
                near_ = attach_again(near_options());
                ASSERT_TRUE(near_);
                expect_sends_again();
                expect_as_before();
              }};
}

Operation SyscallAgentTest::wake_operation(const Sleeper& sleeper) {
  auto expected = std::make_shared<std::uint32_t>(0);
  return {.name = "send that wakes the receiver",
          .least_calls = 2,
          .prepare =
              [this, &sleeper, expected] {
                const StatusProbe probe(hive_->name(), ::getpid(), sleeper.pid());
                if (!near_) {  // one for all cases, because opening a link wakes the sleeper too
                  attach_near();
                  ASSERT_TRUE(near_->peer(sleeper.pid()));
                  ASSERT_TRUE(probe.await_long_sleep(shm::Sleep::kEvent, patience()));
                  EXPECT_FALSE(near_->try_receive());
                }
                *expected = sleeper.taken();
                const Deadline deadline = patience();
                while (probe.sleep() != shm::Sleep::kEvent) {
                  ASSERT_LT(std::chrono::steady_clock::now(), deadline);
                }
              },
          .act = [this, &sleeper]() -> Ending {
            return ending_of(near_->send(*near_->peer(sleeper.pid()), text_));
          },
          .check =
              [this, &sleeper, expected](const Ending& ending) {
                if (ending) ADD_FAILURE() << "a link that is open needs no system call to send";
                sleeper.await(*expected + 1);
                EXPECT_EQ(sleeper.taken(), *expected + 1);
                await_as_before(*near_);  // an agent that came back is told of its links again
              }};
}

Operation SyscallAgentTest::request_operation() {
  return {.name = "request and answer",
          .least_calls = 15,
          .prepare = [this] { attach_near(); },
          .act = [this]() -> Ending {
            auto answer = near_->request("sleeper", kAnswer);
            if (!answer) return answer.error();
            EXPECT_EQ(answer->text(), "answer");
            return {};
          },
          .check =
              [this](const Ending& ending) {
                if (ending) {
                  auto answer = near_->request("sleeper", kAnswer);
                  EXPECT_TRUE(answer) << answer.error().text;
                }
                expect_as_before();
              },
          .short_step = 1};
}

Operation SyscallAgentTest::resume_operation() {
  return {.name = "come back to a restarted coordinator",
          .least_calls = 20,
          .prepare =
              [this] {
                attach_near();
                ASSERT_TRUE(near_->send("far", "before"));
                ASSERT_EQ(taken_by_far().size(), 1U);
                ASSERT_EQ(::kill(hive_->coordinator(), SIGKILL), 0);
                // The next one answers, and `far_` is registered again.
                (void)hive_->status();
                while (!far_->siblings()) {
                }
              },
          .act = [this]() -> Ending {
            const auto siblings = near_->siblings();
            if (!siblings) return siblings.error();
            return {};
          },
          .check =
              [this](const Ending&) {
                const Deadline deadline = patience();
                while (!near_->siblings()) {
                  ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not come back";
                }
                expect_sends_again();
                coordinator_ = process();
                expect_as_before();
              },
          .short_step = 2};
}

TEST_F(SyscallAgentTest, AnAgentSurvivesTheFailureOfEachOfItsCalls) {
  sweep(500, [this](SyscallSweep& sweep) {
    for (const Operation& operation :
         {attach_operation(), first_send_operation(), loan_operation(), wait_operation(),
          full_operation(), event_operation(), detach_operation()}) {
      sweep_alike(sweep, operation);
    }
    sweep_alike(sweep, successor_operation(), kLastLife);
  });
}

TEST_F(SyscallAgentTest, ASleepingReceiverIsWokenWhateverFails) {
  Sleeper sleeper("sleeper");
  sweep(30, [&](SyscallSweep& sweep) {
    sweep_alike(sweep, wake_operation(sleeper));
    near_.reset();
    sweep_alike(sweep, request_operation());
    (void)far_->send("sleeper", kEnd);
  });
}

TEST_F(SyscallAgentTest, AnAgentComesBackToARestartedCoordinator) {
  sweep(20, [this](SyscallSweep& sweep) { sweep_alike(sweep, resume_operation()); });
}

}  // namespace
}  // namespace beeline::test
