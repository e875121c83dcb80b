// Every system call that the tools for dead letters cause fails once, in the tool, in the
// coordinator and in the agent that holds the letter. An order is carried out at most once, and
// repeating it gets it done.

#include <sys/syscall.h>

#include <utility>

#include "src/control/letters_client.h"
#include "tests/fault/sleeper.h"
#include "tests/fault/syscall_fixture.h"

namespace beeline::test {
namespace {

using Words = std::vector<std::string>;

class SyscallLettersTest : public SyscallTest {
 protected:
  // `words()`: the arguments of `beeline dlq`, once the letter exists.
  Operation order(std::string name, std::function<Words()> words) {
    return {.name = std::move(name),
            .act =
                [this, words] {
                  ordered_ = 0;
                  return give(words());
                },
            .whose = Injector::Whose::kOthers,
            .from_call = SYS_lseek,  // into a segment; earlier calls are as in `beeline dlq ls`
            .short_step = 16};
  }
  Ending give(const Words& words) {
    ++ordered_;
    Words all{"beeline", "dlq"};
    all.insert(all.end(), words.begin(), words.end());
    Outcome outcome = test::run(std::move(all));
    said_ = outcome.out;
    return ending_of(outcome);
  }
  // An agent that lost its connection is back soon.
  void give_until_done(const Words& words) {
    const Deadline deadline = patience();
    while (const Ending ending = give(words)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "not done: " << ending->text;
    }
  }
  MessageId send_letter(const std::string& to) {
    const SendResult sent = far_->send(to, kReject);
    EXPECT_TRUE(sent) << to_string(sent.status);
    return sent.id;
  }
  // The coordinator keeps a letter if its receiver has ended for good.
  [[nodiscard]] std::size_t count_kept() const {
    control::Client client = hive_->client();
    const auto kept = control::list_kept_letters(client);
    EXPECT_TRUE(kept) << kept.error().text;
    return kept ? kept->size() : 0;
  }
  // Each has opened its link to the other.
  void meet_sleeper() {
    auto answer = far_->request("sleeper", kAnswer);
    ASSERT_TRUE(answer) << answer.error().text;
    answer->done();
  }
  void leave_letter();

  MessageId letter_ = 0;
  std::uint32_t ordered_ = 0;  // how often in this case
  std::string said_;           // by the tool
};

void SyscallLettersTest::leave_letter() {
  AttachOptions options = named("mayfly");
  options.temporary = true;
  auto mayfly = attach_again(options);
  ASSERT_TRUE(mayfly);
  letter_ = send_letter("mayfly");
  next_message(*mayfly).reject();
  mayfly.reset();
  const Deadline deadline = patience();
  while (count_kept() == 0) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST_F(SyscallLettersTest, ALetterIsPutBackOnceForEachOrderAtMost) {
  sweep_hive(20, [this](SyscallSweep& sweep) {
    Sleeper sleeper("sleeper");  // each time that it is put back, it is rejected again
    meet_sleeper();
    letter_ = send_letter("sleeper");
    sleeper.await(2);
    std::uint32_t before = 0;
    const auto words = [&] { return Words{"requeue", id_text(letter_)}; };
    Operation requeue = order("beeline dlq requeue", words);
    requeue.least_calls = 100;
    requeue.prepare = [&] { before = sleeper.taken(); };
    requeue.check = [&](const Ending& ending) {
      give_until_done(words());
      sleeper.await(before + (ending ? 1 : 2));
      // A failed order may have been carried out all the same, and its letter may still be on its
      // way; the question comes behind it.
      meet_sleeper();
      EXPECT_LE(sleeper.taken(), before + ordered_ + 1);
      await_as_before();
    };
    sweep_alike(sweep, requeue);
    EXPECT_TRUE(far_->send("sleeper", kEnd));
  });
}

TEST_F(SyscallLettersTest, ALetterIsLetGoOrLiesWhereItLay) {
  sweep_hive(20, [this](SyscallSweep& sweep) {
    Sleeper sleeper("sleeper");
    meet_sleeper();
    Operation purge = order("beeline dlq purge", [&] { return Words{"purge", id_text(letter_)}; });
    purge.least_calls = 100;
    purge.prepare = [&] {
      const std::uint32_t before = sleeper.taken();
      letter_ = send_letter("sleeper");
      sleeper.await(before + 1);
    };
    purge.check = [&](const Ending& ending) {
      give_until_done({"purge", "--all"});
      EXPECT_TRUE(said_ == "purged 0\n" || (ending && said_ == "purged 1\n")) << said_;
      EXPECT_FALSE(give({"purge", "--all"}));
      EXPECT_EQ(said_, "purged 0\n");
      await_as_before();
    };
    sweep_alike(sweep, purge);
    EXPECT_TRUE(far_->send("sleeper", kEnd));
  });
}

TEST_F(SyscallLettersTest, ALetterOfTheDeadIsSentOnAndThenLetGo) {
  sweep_hive(20, [this](SyscallSweep& sweep) {
    const auto words = [&] { return Words{"requeue", id_text(letter_), "--to", "far"}; };
    Operation send_on = order("beeline dlq requeue --to", words);
    send_on.least_calls = 100;
    send_on.prepare = [this] { leave_letter(); };
    send_on.check = [&](const Ending& ending) {
      EXPECT_TRUE(ending || count_kept() == 0);
      if (count_kept() != 0) give_until_done(words());
      EXPECT_EQ(count_kept(), 0U);
      const std::vector<std::string> texts = taken_by_far();
      EXPECT_GE(texts.size(), 1U) << "it is lost";
      EXPECT_LE(texts.size(), ordered_);
      await_as_before();
    };
    send_on.from_call = SYS_socket;  // before this call the tool is being loaded
    send_on.short_step = 22;
    sweep_alike(sweep, send_on);
  });
}

}  // namespace
}  // namespace beeline::test
