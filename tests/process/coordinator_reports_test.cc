// Reports of agents to the coordinator, and the traces of them: in its log, which no single agent
// can fill, at the owner of a link that was ended, and in its status.

#include <fcntl.h>
#include <sys/stat.h>

#include <array>

#include <beeline/agent.h>

#include "coordinator_fixture.h"

namespace beeline::control {
namespace {

class ReportsTest : public CoordinatorTest {
 protected:
  static AttachRequest temporary(std::string name) {
    AttachRequest request = named(std::move(name));
    request.temporary = true;
    return request;
  }
  [[nodiscard]] std::vector<std::string> lines_with(const std::string& part) const {
    std::ifstream log(root_ + "/beelined.log");
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);) {
      if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  // Posts a report, again and again while the socket has no room.
  static Result<void> report(TestAgent& reporter, const ReportRequest& wanted) {
    Result<void> done;
    (void)eventually([&] {
      done = reporter.client.report(wanted);
      return done || done.error().code != ErrorCode::kFull;
    });
    return done;
  }
  // `reader` ends the link of `owner` to it.
  static void end_link(TestAgent& reader, TestAgent& owner) {
    ASSERT_TRUE(is_ok(owner.open(reader.pid())));
    const auto link = reader.next<AnnouncedLink>();
    ASSERT_TRUE(link.has_value());
    ASSERT_TRUE(
        is_ok(reader.client.report({"a bad slot", link->pid, link->incarnation, link->serial})));
    const auto told = owner.next<EndedAnnouncement>();
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->what, "a bad slot");
  }
};

// Nobody else could know of it: the messages of its sender were accepted.
TEST_F(ReportsTest, ALinkThatItsReaderCannotTakeInNowIsSaidAndStays) {
  start();
  TestAgent reader = agent(named("reader"));
  TestAgent sender = agent(named("sender"));
  ASSERT_TRUE(is_ok(sender.open(reader.pid())));
  ReportRequest lack{"no memory", sender.pid(), sender.attached.incarnation, 1};
  lack.waits = true;
  ASSERT_TRUE(is_ok(report(reader, lack)));
  EXPECT_TRUE(eventually([&] { return lines_with("event=link_waits").size() == 1; }));
  ASSERT_TRUE(is_ok(reader.client.status()));
  EXPECT_TRUE(lines_with("event=link_ended").empty());
}

TEST_F(ReportsTest, AFloodOfOneAgentLeavesRoomForAllOthersAndIsCounted) {
  constexpr std::size_t kReports = 2000;
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent liar = agent(temporary("liar"));
  ASSERT_NO_FATAL_FAILURE(end_link(lead, liar));
  const ReportRequest lie{std::string(200, 'x'), lead.pid(), lead.attached.incarnation, 99};
  for (std::size_t i = 0; i < kReports; ++i) ASSERT_TRUE(is_ok(report(liar, lie)));
  // Another reporter still gets its line.
  ASSERT_TRUE(is_ok(report(lead, {"mine", liar.pid(), shm::Incarnation(1), 1})));
  const std::string by_liar = "event=report_refused reporter=" + std::to_string(liar.pid()) + " ";
  const std::string by_lead = "event=report_refused reporter=" + std::to_string(lead.pid()) + " ";
  ASSERT_TRUE(is_ok(liar.client.detach({})));
  EXPECT_TRUE(eventually([&] { return lines_with(by_lead).size() == 1; }));
  // The end of the hive settles all accounts. The end of a life settles its own only if its user
  // may have a line then, which depends on how long the flood took.
  ASSERT_TRUE(is_ok(lead.client.down()));
  const std::size_t written = lines_with(by_liar).size();
  EXPECT_GE(written, 1U);
  EXPECT_LE(written, 100U) << "of " << kReports << " lines that say the same";
  EXPECT_EQ(lines_with("event=link_ended").size(), 1U);
  std::size_t left_out = 0;
  for (const std::string& line : lines_with(" of=report_refused ")) {
    left_out += std::stoul(line.substr(line.find("count=") + 6));
  }
  EXPECT_EQ(written + left_out, kReports) << "each line is there, or counted";
}

TEST_F(ReportsTest, AnAgentThatComesAndGoesAllTheTimeDoesNotFillTheLog) {
  constexpr std::size_t kTimes = 1500;
  start();
  for (std::size_t i = 0; i < kTimes; ++i) {
    auto bad = os::PacketSocket::connect(root_ + "/hive/socket");
    ASSERT_TRUE(is_ok(bad));
    ASSERT_TRUE(is_ok(bad->send("no packet")));
    TestAgent once;
    ASSERT_TRUE(is_ok(once.attach(temporary(""))));
    ASSERT_TRUE(is_ok(once.client.detach({})));
  }
  Client client = connect();
  EXPECT_TRUE(eventually([&] { return client.status()->dropped_clients == kTimes; }));
  ASSERT_TRUE(is_ok(client.down()));
  for (const char* event : {"client_dropped", "attached", "life_ended"}) {
    const std::size_t written = lines_with("event=" + std::string(event) + ' ').size();
    EXPECT_GE(written, 1U) << event;
    EXPECT_LT(written, kTimes) << event;
    std::size_t left_out = 0;
    for (const std::string& line : lines_with("of=" + std::string(event) + ' ')) {
      left_out += std::stoul(line.substr(line.find("count=") + 6));
    }
    EXPECT_EQ(written + left_out, kTimes) << event << ": each line is there, or counted";
  }
}

TEST_F(ReportsTest, AnAgentThatEscalatesAllTheTimeIsRefused) {
  start();
  TestAgent lead = agent(named("lead"));
  Result<void> last;
  for (int i = 0; i < 1000 && last; ++i) last = lead.client.escalate("help");
  EXPECT_TRUE(has_error(last, ErrorCode::kFull, "too often"));
  TestAgent other = agent(named("other"));
  EXPECT_TRUE(is_ok(other.client.escalate("help")));
}

// A full pipe stands for a log on a full disk.
TEST_F(ReportsTest, AnEscalationThatTheLogHasNoRoomForUsesUpNoLineAndWaitsInTheHandsOfItsHandler) {
  const std::string path = root_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const os::UniqueFd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 4096> bytes{};
  while (::write(pipe.get(), bytes.data(), bytes.size()) > 0) {
  }
  ASSERT_EQ(run_beelined({"--log", path}).first, 0);
  TestAgent lead = agent(named("lead"));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(
        has_error(lead.client.escalate("help"), ErrorCode::kNoMemory, "its disk may be full"));
  }

  auto worker = beeline::Agent::attach({.name = "worker"});
  ASSERT_TRUE(is_ok(worker));
  ASSERT_TRUE(worker->send("worker", "hopeless"));
  const auto served = worker->serve(
      [](Message&) {
        return Ack{AckStatus::kEscalate, {}};
      },
      {.most = 1});
  EXPECT_TRUE(served && *served == 1);
  EXPECT_EQ(worker->counters().leased, 1U);
  std::string log;
  const auto is_written = [&] {
    (void)worker->receive({.timeout = 1ms});
    for (ssize_t count = 0; (count = ::read(pipe.get(), bytes.data(), bytes.size())) > 0;) {
      log.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return worker->counters().done == 1;
  };
  EXPECT_TRUE(eventually(is_written));
  EXPECT_NE(log.find("hopeless"), std::string::npos);
}

TEST_F(ReportsTest, ACoordinatorThatDoesNotReadHoldsNoReporterUp) {
  start();
  TestAgent lead = agent(named("lead"));
  const std::int32_t coordinator = lead.client.status()->coordinator_pid;
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  Result<void> last;
  for (int i = 0; i < 100'000 && last; ++i)
    last = lead.client.report({"nothing", 1, shm::Incarnation(1), 1});
  EXPECT_TRUE(has_error(last, ErrorCode::kFull));
  EXPECT_TRUE(has_error(lead.client.fade(shm::Incarnation(1), 1), ErrorCode::kFull));
  EXPECT_FALSE(lead.client.closed()) << "the connection is as good as before";
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);
  EXPECT_TRUE(is_ok(lead.client.status()));
  EXPECT_TRUE(is_ok(lead.client.report({"nothing", 1, shm::Incarnation(1), 1})));
}

TEST_F(ReportsTest, AnOwnerThatOpensAnEndedLinkAgainIsToldThatItHasEnded) {
  start();
  TestAgent reader = agent(named("reader"));
  TestAgent owner = agent(named("owner"));
  ASSERT_NO_FATAL_FAILURE(end_link(reader, owner));
  const auto again = owner.open(reader.pid(), true, 1U);
  ASSERT_TRUE(is_ok(again));
  EXPECT_TRUE(again->ended);
  EXPECT_FALSE(again->may_send);
}

TEST_F(ReportsTest, ALinkThatItsReaderRefusesStaysForTheReceiptsOfItsOwnersNextLife) {
  start();
  TestAgent reader = agent(named("reader"));
  TestAgent owner = agent(named("owner"));
  ASSERT_TRUE(is_ok(reader.open(owner.pid())));
  ASSERT_TRUE(is_ok(owner.open(reader.pid())));
  ASSERT_TRUE(reader.next<AnnouncedLink>().has_value());
  ReportRequest refusal{"it is not ready", owner.pid(), owner.attached.incarnation, 1, true};
  ASSERT_TRUE(is_ok(reader.client.report(refusal)));
  ASSERT_TRUE(owner.next<EndedAnnouncement>().has_value());
  const auto listed = reader.client.links_to(reader.pid(), true);
  ASSERT_TRUE(is_ok(listed));
  EXPECT_TRUE(listed->empty()) << "nothing in it waits for its reader";
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  EXPECT_EQ(reader.client.status()->links, 2U);
  TestAgent successor;
  ASSERT_TRUE(is_ok(successor.attach(named("owner"))));
  const auto inherited = successor.next<AnnouncedLink>();
  ASSERT_TRUE(inherited.has_value());
  EXPECT_TRUE(inherited->mine.has_value()) << "how far the last life has taken what it was sent";
  ASSERT_TRUE(is_ok(successor.provide(true)));
  EXPECT_EQ(reader.client.status()->links, 1U) << "the link of the reader to the owner";
}

// The life that has refused the link may have lied.
TEST_F(ReportsTest, ALinkThatOneLifeOfItsReaderRefusesIsShownToTheNext) {
  start();
  TestAgent owner = agent(temporary("owner"));
  {
    TestAgent liar = agent(named("reader"));
    ASSERT_TRUE(is_ok(owner.open(liar.pid())));
    ASSERT_TRUE(liar.next<AnnouncedLink>().has_value());
    const ReportRequest lie{"not ready", owner.pid(), owner.attached.incarnation, 1, true};
    for (int time = 0; time < 2; ++time) ASSERT_TRUE(is_ok(report(liar, lie)));
    ASSERT_TRUE(owner.next<EndedAnnouncement>().has_value());
    const auto resumed = liar.resume();
    ASSERT_TRUE(is_ok(resumed));
    EXPECT_EQ(resumed->in_links, 0U) << "it was told once";
    ASSERT_TRUE(is_ok(liar.client.detach({})));
  }
  TestAgent heir;
  ASSERT_TRUE(is_ok(heir.attach(named("reader"))));
  EXPECT_EQ(heir.attached.in_links, 1U);
  const auto shown = heir.next<AnnouncedLink>();
  ASSERT_TRUE(shown.has_value());
  EXPECT_FALSE(shown->may_send) << "its receipts alone count";
  ASSERT_TRUE(is_ok(heir.provide(true)));
  const auto listed = heir.client.links_to(heir.pid(), true);
  ASSERT_TRUE(is_ok(listed));
  EXPECT_EQ(listed->size(), 1U) << "it is for the heir to let go of it";
  ASSERT_TRUE(is_ok(report(heir, {"it is", owner.pid(), owner.attached.incarnation, 1, true})));
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  EXPECT_TRUE(eventually([&] { return heir.client.status()->links == 0; }))
      << "no life is left that has it";
  EXPECT_EQ(heir.client.status()->quarantined_links, 1U);
}

TEST_F(ReportsTest, ALinkThatItsReaderRefusesIsJudgedAgainUnderTheNextCoordinator) {
  start();
  TestAgent reader = agent(named("reader"));
  TestAgent owner = agent(temporary("owner"));
  ASSERT_TRUE(is_ok(owner.open(reader.pid())));
  const ReportRequest refusal{"it is not ready", owner.pid(), owner.attached.incarnation, 1, true};
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(reader.next<AnnouncedLink>().has_value());
    ASSERT_TRUE(is_ok(reader.client.report(refusal)));
    EXPECT_EQ(reader.client.status()->quarantined_links, 1U) << "it is one link";
    if (life == 1) break;
    const std::uint64_t restarts = reader.client.status()->restarts;
    ASSERT_EQ(::kill(reader.client.status()->coordinator_pid, SIGKILL), 0);
    ASSERT_TRUE(eventually([&] {
      return reader.resume().has_value() && reader.client.status()->restarts > restarts;
    }));
    ASSERT_TRUE(is_ok(owner.resume()));
  }
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  EXPECT_TRUE(eventually([&] { return reader.client.status()->links == 0; }));
}

TEST_F(ReportsTest, TheNumberOfEndedLinksOutlivesLinksAndCoordinator) {
  start();
  TestAgent reader = agent(named("reader"));
  {
    TestAgent owner = agent(temporary("owner"));
    ASSERT_NO_FATAL_FAILURE(end_link(reader, owner));
    ASSERT_TRUE(is_ok(owner.client.detach({})));
    ASSERT_TRUE(is_ok(reader.client.fade(owner.attached.incarnation, 1)));
    ASSERT_TRUE(is_ok(reader.client.fade(owner.attached.incarnation, 1, true)));
    ASSERT_TRUE(reader.next<FadedAnnouncement>().has_value());
  }
  Client client = connect();
  EXPECT_EQ(client.status()->links, 0U);
  EXPECT_EQ(client.status()->quarantined_links, 1U);
  const auto before = client.status();
  ASSERT_EQ(::kill(before->coordinator_pid, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    auto fresh = Client::connect();
    const auto now = fresh ? fresh->status() : Result<StatusAnswer>(fail(ErrorCode::kClosed, ""));
    return now && now->restarts > before->restarts && now->quarantined_links == 1;
  }));
}

}  // namespace
}  // namespace beeline::control
