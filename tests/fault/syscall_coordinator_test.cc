// Every system call of keeper and coordinator fails once while they serve agents. Agents get
// everything they are owed in the end, no message of the dead is lost, and nothing is left behind.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/control/letters_client.h"
#include "tests/fault/syscall_fixture.h"
#include "tests/process/coordinator_fixture.h"

namespace beeline::test {
namespace {

constexpr uid_t kOtherUser = 65534;
constexpr gid_t kGroup = 65500;

// Holds a message, has another one in its lane, and waits for its end.
BEELINE_ROLE(mortal) {
  auto agent = attach("mortal", "far");
  ASSERT_TRUE(agent && agent->send("far", "of the dead"));
  const Message held = next_message(*agent);
  context.board<Event>().raise();
  for (;;) ::pause();
}

// While an object exists, this thread is another user, also to its peers.
class OtherUser {
 public:
  OtherUser() {
    set(SYS_setresgid, kGroup);
    set(SYS_setresuid, kOtherUser);
    // It may look into its own /proc, like a program that another user has started.
    EXPECT_EQ(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
  }
  ~OtherUser() {
    set(SYS_setresuid, 0);
    set(SYS_setresgid, 0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  // By system call, because the functions of the C library change all threads.
  static void set(long call, unsigned effective) {
    EXPECT_EQ(::syscall(call, -1, effective, -1), 0);
  }
};

class SyscallCoordinatorTest : public SyscallTest {
 protected:
  Operation death_operation(Troupe& troupe, const Event& holds);
  Operation leave_operation();
  Operation burial_operation();
  Operation report_operation(Injector::Whose whose);
  Operation escalate_operation(Injector::Whose whose);
  Operation foreigner_operation();

  static AttachOptions temporary(const std::string& name) {
    AttachOptions options = named(name);
    options.temporary = true;
    options.control_timeout = kHasty;
    return options;
  }
  // `guest_`, or the reason why it could not attach.
  Ending attach_guest(const AttachOptions& options) {
    auto agent = Agent::attach(options);
    if (!agent) return agent.error();
    guest_ = std::move(*agent);
    return {};
  }
  void expect_as_before() {
    guest_.reset();
    EXPECT_EQ(process(), coordinator_) << "it has ended";
    await_as_before();
  }
  // Waits until `far_` is told that a child is away.
  void await_notice() {
    const Deadline deadline = patience();
    for (;;) {
      while (const auto notice = far_->next_notice()) {
        if (notice->kind == Notice::Kind::kChildAway) return;
      }
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nobody was told of the end";
      (void)far_->receive({.timeout = 10ms, .filter = kNobody, .stop_on_notice = true});
    }
  }
  [[nodiscard]] shm::AgentState guest_state() const {
    const auto all = hive_->client().list_all();
    if (!all) return shm::AgentState::kVacant;
    const auto guest = std::find_if(all->begin(), all->end(),
                                    [](const auto& agent) { return agent.name == "guest"; });
    return guest == all->end() ? shm::AgentState::kVacant : guest->state;
  }
  void await_guest_away() const {
    const Deadline deadline = patience();
    while (guest_state() != shm::AgentState::kAway) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it has not left";
    }
  }
  // Waits until the coordinator has told `other` of the end of its link, or has hung up: then it
  // has made the calls that are to fail. Asking it would add the calls of its answers. `far_` may
  // have to come back to it first.
  [[nodiscard]] bool hears_of_end(control::TestAgent& other) {
    const Deadline deadline = after(10s);
    while (!other.client.closed() && std::chrono::steady_clock::now() < deadline) {
      if (other.next<control::EndedAnnouncement>(1ms)) return true;
      (void)far_->receive({.timeout = 1ms, .filter = kNobody});
    }
    return false;
  }
  // Letters that the coordinator holds, by the start of their text; none while it does not answer.
  [[nodiscard]] std::vector<std::string> letters() const {
    std::vector<std::string> texts;
    auto client = control::Client::connect();
    if (!client) return {};
    const auto kept = control::list_kept_letters(*client);
    if (!kept) return {};
    for (const control::KeptLetter& each : *kept) texts.push_back(each.preview);
    return texts;
  }

  // Otherwise each case would list those of all earlier cases.
  static void let_letters_go() {
    auto client = control::Client::connect();
    ASSERT_TRUE(client) << client.error().text;
    control::LettersRequest all;
    all.what = control::kPurgeLetters;
    const auto gone = control::ask_letters(*client, all);
    ASSERT_TRUE(gone) << gone.error().text;
    EXPECT_EQ(*gone, 3U);
  }

  std::optional<Agent> guest_;
  std::uint64_t count_ = 0;
};

Operation SyscallCoordinatorTest::death_operation(Troupe& troupe, const Event& holds) {
  auto place = std::make_shared<std::size_t>(0);
  return {.name = "coordinator: death, hand-over",
          .least_calls = 40,
          .prepare =
              [this, &troupe, &holds, place] {
                const std::uint32_t before = holds.count();
                *place = troupe.start("mortal");
                ASSERT_TRUE(peer_of(*far_, "mortal").valid());
                next_message(*far_).done();
                ASSERT_TRUE(far_->send("mortal", "held"));
                ASSERT_TRUE(holds.await(before + 1, patience()));
                ASSERT_TRUE(far_->send("mortal", "in its lane"));
              },
          .act =
              [this, &troupe, place] {
                troupe.kill(*place);
                await_notice();
                AttachOptions options = named("mortal", "far");
                options.control_timeout = kHasty;
                return attach_guest(options);
              },
          .check =
              [this](const Ending&) {
                if (!guest_) guest_ = attach_again(named("mortal", "far"));
                ASSERT_TRUE(guest_);
                drain_what_fits(*guest_);
                EXPECT_EQ(take_texts(*guest_), (std::vector<std::string>{"held", "in its lane"}));
                expect_balance(*guest_);
                expect_as_before();
                await_notice();
              },
          .whose = Injector::Whose::kOthers,
          .short_step = 2};
}

// Its process lives on: if the keeper has not heard of the end, no later coordinator can see it.
Operation SyscallCoordinatorTest::leave_operation() {
  return {.name = "coordinator: an agent leaves",
          .least_calls = 10,
          .prepare = [this] { ASSERT_FALSE(attach_guest(named("guest"))); },
          .act = [this]() -> Ending {
            guest_.reset();
            return {};
          },
          .check =
              [this](const Ending&) {
                await_guest_away();
                ASSERT_EQ(::kill(coordinator_, SIGKILL), 0);
                EXPECT_EQ(guest_state(), shm::AgentState::kAway) << "it is believed to live";
                coordinator_ = process();
              },
          .whose = Injector::Whose::kOthers};
}

Operation SyscallCoordinatorTest::burial_operation() {
  return {
      .name = "coordinator: letters of the finally dead",
      .least_calls = 40,
      .prepare =
          [this] {
            ASSERT_FALSE(attach_guest(temporary("mayfly")));
            for (const char* text : {"rejected", "queued"}) {
              ASSERT_TRUE(far_->send("mayfly", fmt::format("{} {}", text, count_)));
            }
            next_message(*guest_).reject();
            drain_what_fits(*guest_);
            ASSERT_TRUE(far_->send("mayfly", fmt::format("in its lane {}", count_)));
          },
      .act = [this]() -> Ending {
        guest_.reset();
        const Deadline deadline = after(10s);
        while (letters().size() < 3 && std::chrono::steady_clock::now() < deadline) {
          (void)far_->receive({.timeout = 1ms, .filter = kNobody});
        }
        return {};
      },
      .check =
          [this](const Ending&) {
            const std::vector<std::string> all = letters();
            for (const char* text : {"rejected", "queued", "in its lane"}) {
              EXPECT_EQ(std::count(all.begin(), all.end(), fmt::format("{} {}", text, count_)), 1)
                  << text;
            }
            EXPECT_EQ(all.size(), 3U);
            ++count_;
            let_letters_go();
            expect_as_before();
          },
      .whose = Injector::Whose::kOthers,
      .short_step = 2};
}

// A liar: an agent that is attached by the rules and claims that its message is from another one.
Operation SyscallCoordinatorTest::report_operation(Injector::Whose whose) {
  const bool is_own = whose == Injector::Whose::kOwn;
  auto liar = std::make_shared<control::TestAgent>();
  auto told = std::make_shared<bool>(false);
  const auto ended = [] {
    auto client = control::Client::connect();
    const auto status = client ? client->status() : Result<control::StatusAnswer>();
    return status ? status->quarantined_links : 0;
  };
  return {.name = is_own ? "report of a liar: its reader" : "report of a liar: coordinator",
          .least_calls = is_own ? 1U : 10U,
          .prepare =
              [this, liar] {
                *liar = {};
                control::AttachRequest request;
                request.name = "liar";
                request.temporary = true;
                ASSERT_TRUE(liar->attach(request));
                ASSERT_TRUE(liar->provide(true));
                ASSERT_TRUE(liar->open(far_->pid()));
                shm::MessageHeader forged{};
                forged.id = shm::make_message_id(far_->pid(), 1);
                forged.slab = shm::kNoSlab.value();
                const char payload[shm::kInlineBytes] = "";
                const shm::Link link(liar->links.at(1).data(), shm::LinkContract{});
                shm::publish_slot(link.slot(shm::Lane::kNormal, 0), 0, forged, 0, payload);
              },
          .act = [this, liar, told, is_own]() -> Ending {
            drain_what_fits(*far_);
            *told = !is_own && hears_of_end(*liar);
            return {};
          },
          .check =
              [this, liar, told, ended](const Ending&) {
                ++count_;
                drain_until(*far_, [&] { return ended() == count_; });
                EXPECT_EQ(far_->counters().quarantined_links, count_);
                // A liar that has lost its connection hears it when it asks for the link again.
                *told = *told || liar->next<control::EndedAnnouncement>().has_value();
                EXPECT_TRUE(*told || liar->client.closed()) << "the liar is not told";
                if (!liar->client.closed()) (void)liar->client.detach({});
                *liar = {};
                expect_as_before();
              },
          .whose = whose,
          .short_step = is_own ? 1U : 3U};
}

// Only the coordinator is above this agent; it writes the escalation down.
Operation SyscallCoordinatorTest::escalate_operation(Injector::Whose whose) {
  const bool is_own = whose == Injector::Whose::kOwn;
  return {.name = is_own ? "escalate: an agent" : "escalate: coordinator",
          .least_calls = 3,
          .prepare =
              [this] {
                ASSERT_FALSE(attach_guest(temporary("guest")));
                text_ = fmt::format("nobody knows {}", ++count_);
              },
          .act =
              [this] {
                const Deadline late = after(kHasty);
                return ending_of(guest_->escalate(text_), late);
              },
          .check =
              [this](const Ending& ending) {
                const Deadline deadline = patience();
                for (bool again = ending.has_value(); again; again = !guest_->escalate(text_)) {
                  ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "never written down";
                }
                EXPECT_NE(hive_->log().find(text_), std::string::npos);
                expect_as_before();
              },
          .whose = whose,
          .short_step = is_own ? 0U : 1U};
}

Operation SyscallCoordinatorTest::foreigner_operation() {
  return {.name = "coordinator: an agent of another user",
          .least_calls = 40,
          .act = [this]() -> Ending {
            text_ = fmt::format("from abroad {}", ++count_);
            const OtherUser other;
            if (Ending ending = attach_guest(temporary("foreigner"))) return ending;
            const Deadline late = after(kHasty);
            Ending ending = ending_of(guest_->send("far", text_), late);
            guest_.reset();
            return ending;
          },
          .check =
              [this](const Ending& ending) {
                expect_delivered(text_, ending);
                {
                  const OtherUser other;
                  guest_ = attach_again(temporary("foreigner"));
                  ASSERT_TRUE(guest_ && guest_->send("far", "again"));
                  guest_.reset();
                }
                EXPECT_EQ(taken_by_far(), std::vector<std::string>{"again"});
                expect_as_before();
              },
          .whose = Injector::Whose::kOthers,
          .short_step = 2};
}

TEST_F(SyscallCoordinatorTest, ADeathIsHandledAndFollowedWhateverFails) {
  sweep_hive(20, [this](SyscallSweep& sweep) {
    const SharedMemory board(sizeof(Event));
    Troupe troupe(World::kProcesses, board);
    sweep_alike(sweep, death_operation(troupe, board.as<Event>()), kLastLife);
  });
}

TEST_F(SyscallCoordinatorTest, AnAgentThatLeftHasLeftForTheNextCoordinatorTooWhateverFails) {
  sweep_hive(20, [this](SyscallSweep& sweep) { sweep_alike(sweep, leave_operation()); });
}

TEST_F(SyscallCoordinatorTest, NoLetterOfTheDeadIsLostWhateverFails) {
  sweep_hive(20, [this](SyscallSweep& sweep) { sweep_alike(sweep, burial_operation()); });
}

TEST_F(SyscallCoordinatorTest, ALiarIsReportedWhateverFails) {
  sweep_hive(15, [this](SyscallSweep& sweep) {
    sweep_alike(sweep, report_operation(Injector::Whose::kOthers));
    sweep_alike(sweep, report_operation(Injector::Whose::kOwn));
  });
}

TEST_F(SyscallCoordinatorTest, AnIssueIsWrittenDownWhateverFails) {
  sweep_hive(15, [this](SyscallSweep& sweep) {
    sweep_alike(sweep, escalate_operation(Injector::Whose::kOthers));
    sweep_alike(sweep, escalate_operation(Injector::Whose::kOwn));
  });
}

TEST_F(SyscallCoordinatorTest, APeerOfAnotherUserGetsABellOfItsOwnWhateverFails) {
  if (::geteuid() != 0) GTEST_SKIP() << "an agent of another user can be made by root alone";
  ::setenv("BEELINE_GROUP", std::to_string(kGroup).c_str(), 1);
  sweep_hive(20, [this](SyscallSweep& sweep) { sweep_alike(sweep, foreigner_operation()); });
  ::unsetenv("BEELINE_GROUP");
}

}  // namespace
}  // namespace beeline::test
