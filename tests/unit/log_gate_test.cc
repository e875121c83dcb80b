// A user that floods the log is stopped, others are not, and omitted lines are counted.

#include "src/control/log_gate.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <string>

#include "src/os/fd.h"

namespace beeline::control {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1000 * kSecond;
constexpr LogGate::Limit kFew{{0.1, 2}, {0.1, 10}};

class LogGateTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    reading_.reset(ends[0]);
    writing_.reset(ends[1]);
    log_ = Log(writing_.get());
  }
  // How many of `count` lines of the causer are written.
  std::uint64_t flood(LogGate::Who who, std::uint64_t count, std::int64_t now_ns) {
    std::uint64_t written = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      written += gate_.admits(log_, who, "event", now_ns, kFew) ? 1 : 0;
    }
    return written;
  }
  // How many lines were omitted since the last call, as the lines for this causer report.
  std::uint64_t left_out(const std::string& who = "") {
    log_.info("end", "");
    std::string text;
    std::array<char, 4096> part{};
    while (text.find("event=end") == std::string::npos) {
      const ssize_t count = ::read(reading_.get(), part.data(), part.size());
      if (count <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    std::uint64_t sum = 0;
    const std::string begin = "event=lines_left_out " + who;
    for (std::size_t at = text.find(begin); at != std::string::npos;
         at = text.find(begin, at + 1)) {
      sum += std::stoull(text.substr(text.find("count=", at) + 6));
    }
    return sum;
  }

  LogGate gate_;
  os::UniqueFd reading_;
  os::UniqueFd writing_;
  Log log_;
};

TEST_F(LogGateTest, OneAgentTakesNoLineFromAnother) {
  EXPECT_EQ(flood({5, 1000}, 100, kStart), 2U);
  EXPECT_EQ(flood({6, 1000}, 1, kStart), 1U);
  gate_.settle_all(log_);
  EXPECT_EQ(left_out("agent=5 of=event"), 98U);
}

TEST_F(LogGateTest, ManyAgentsOfOneUserHaveNoMoreLinesThanTheUser) {
  std::uint64_t written = 0;
  for (Pid pid = 2; pid < 1000; ++pid) {
    written += flood({pid, 1000}, 3, kStart);
    gate_.settle_agent(log_, {pid, 1000}, kStart);
  }
  EXPECT_LE(written, 10U);
  EXPECT_LT(gate_.size(), 10U) << "agents are remembered that may cause no line";
  EXPECT_EQ(flood({2000, 1001}, 1, kStart), 1U) << "another user has lines of his own";
  gate_.settle_all(log_);
  EXPECT_EQ(written + left_out(), 998U * 3) << "each is there, or counted";
}

TEST_F(LogGateTest, TheEndOfALifeGivesNoLinesBack) {
  EXPECT_EQ(flood({5, 1000}, 10, kStart), 2U);
  gate_.settle_agent(log_, {5, 1000}, kStart);
  EXPECT_EQ(left_out("agent=5 of=event"), 8U) << "it is said at the end of the life";
  EXPECT_EQ(flood({5, 1000}, 10, kStart), 0U);
}

TEST_F(LogGateTest, OmittedLinesAreReportedInTimeAndTakeNoLineFromAnybody) {
  EXPECT_EQ(flood({5, 1000}, 20, kStart), 2U);
  const std::int64_t next_ns = gate_.settle(log_, kStart);
  EXPECT_EQ(left_out(), 0U);
  ASSERT_GT(next_ns, kStart);
  ASSERT_LE(next_ns, kStart + 11 * kSecond);
  const std::int64_t now_ns = kStart + 11 * kSecond;  // a line comes every ten seconds
  (void)gate_.settle(log_, now_ns);
  EXPECT_EQ(left_out("agent=5 of=event"), 18U);
  EXPECT_EQ(flood({5, 1000}, 1, now_ns), 1U) << "the account has taken its line";
}

// Full lines, not only the number of missing ones.
TEST_F(LogGateTest, InASteadyFloodALineIsWrittenNowAndThen) {
  constexpr std::int64_t kSeconds = 1000;
  std::uint64_t caused = 0;
  std::uint64_t written = 0;
  std::uint64_t counted = 0;
  std::uint64_t accounts = 0;
  for (std::int64_t second = 0; second < kSeconds; ++second) {
    const std::int64_t now_ns = kStart + second * kSecond;
    for (std::int64_t tenth = 0; tenth < 10; ++tenth, ++caused) {
      // Ever new agents, as in a flood of lives.
      const Pid pid = static_cast<Pid>(2 + caused);
      written += flood({pid, 1000}, 1, now_ns + tenth * kSecond / 10);
      gate_.settle_agent(log_, {pid, 1000}, now_ns + tenth * kSecond / 10);
      (void)gate_.settle(log_, now_ns + tenth * kSecond / 10);
    }
    const std::uint64_t now_counted = left_out();
    counted += now_counted;
    accounts += now_counted == 0 ? 0 : 1;
  }
  gate_.settle_all(log_);
  EXPECT_GE(written, 10 + kSeconds / 10 - 1) << "as many as the user may cause";
  EXPECT_LE(written, 10 + kSeconds / 10);
  EXPECT_LE(accounts, 2 * kSeconds / 10) << "what was left out fills the log";
  EXPECT_EQ(written + counted + left_out(), caused) << "each is there, or counted";
}

TEST_F(LogGateTest, AnAgentThatCausesNoLinesIsForgottenInTime) {
  EXPECT_EQ(flood({5, 1000}, 10, kStart), 2U);
  EXPECT_GT(gate_.size(), 0U);
  std::int64_t now_ns = kStart;
  int looks = 0;
  for (std::int64_t next_ns = gate_.settle(log_, now_ns); next_ns != 0 && looks < 100; ++looks) {
    ASSERT_GE(next_ns, now_ns);
    now_ns = next_ns;
    next_ns = gate_.settle(log_, now_ns);
  }
  EXPECT_EQ(gate_.size(), 0U);
  EXPECT_LT(looks, 100) << "it never comes to rest";
}

TEST_F(LogGateTest, ItRemembersSoManyAtMost) {
  for (uid_t uid = 1; uid < 2 * LogGate::kMaxKinds; ++uid) (void)flood({0, uid}, 1, kStart);
  EXPECT_LE(gate_.size(), LogGate::kMaxKinds + 1);
  EXPECT_LE(flood({0, 1'000'000}, 100, kStart), 10U) << "the rest shares one bucket";
}

TEST_F(LogGateTest, TheAgentsOfAFewTakeNoPlaceFromOtherUsers) {
  constexpr LogGate::Limit kMany{{0.1, 2}, {0.1, 100'000}};
  const auto admits = [&](LogGate::Who who) {
    return gate_.admits(log_, who, "event", kStart, kMany);
  };
  for (uid_t uid = 1; uid <= 8; ++uid) {
    for (Pid pid = 1; pid <= LogGate::kMaxKinds; ++pid) {
      ASSERT_TRUE(admits({pid, uid})) << "an agent too many has the lines of its user";
    }
    EXPECT_LE(gate_.size(), uid * (LogGate::kMaxAgentKindsOfUser + 1));
  }
  EXPECT_LT(gate_.size(), LogGate::kMaxKinds);
  EXPECT_EQ(flood({0, 1000}, 100, kStart), 10U);
  EXPECT_EQ(flood({0, 1001}, 100, kStart), 10U) << "a newcomer has a bucket of his own";
}

TEST_F(LogGateTest, AForgottenAgentMakesRoom) {
  for (Pid pid = 1; pid <= LogGate::kMaxAgentKindsOfUser; ++pid) {
    (void)gate_.admits(log_, {pid, 1000}, "event", kStart, {{0.1, 2}, {1000, 100'000}});
  }
  const std::size_t full = gate_.size();
  std::int64_t now_ns = kStart;
  while ((now_ns = gate_.settle(log_, now_ns)) != 0) ASSERT_LT(now_ns, kStart + 1000 * kSecond);
  EXPECT_EQ(gate_.size(), 0U);
  for (Pid pid = 1; pid <= LogGate::kMaxAgentKindsOfUser; ++pid) {
    (void)gate_.admits(log_, {pid, 1000}, "event", kStart + 1000 * kSecond,
                       {{0.1, 2}, {1000, 100'000}});
  }
  EXPECT_EQ(gate_.size(), full);
}

}  // namespace
}  // namespace beeline::control
