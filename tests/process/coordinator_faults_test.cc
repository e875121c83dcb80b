// The coordinator with bad clients, and its death, start and end.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "coordinator_fixture.h"
#include "src/control/death.h"

namespace beeline::control {
namespace {

// A connection that does not go through the client.
os::PacketSocket raw_socket() {
  auto socket = os::PacketSocket::connect(std::string(std::getenv("BEELINE_DIR")) + "/socket");
  EXPECT_TRUE(is_ok(socket));
  return std::move(*socket);
}

// The error that a raw client gets before it is dropped; empty if it is not dropped.
std::string last_words(os::PacketSocket& socket) {
  std::string words;
  for (;;) {
    auto packet = socket.receive(1 << 20, kLong);
    if (!packet) return packet.error().code == ErrorCode::kClosed ? words : "";
    if (!*packet) return "";
    words = (*packet)->text;
  }
}

TEST_F(CoordinatorTest, ASecondInstanceExitsWith3AndNamesTheFirst) {
  start();
  const std::int32_t keeper = connect().status()->keeper_pid;
  const auto [status, text] = run_beelined({});
  EXPECT_EQ(status, 3);
  EXPECT_EQ(text.find("beelined: hive \"default\" in " + root_ + "/hive is already run by pid " +
                      std::to_string(keeper) + " since 20"),
            0U)
      << text;
  EXPECT_TRUE(is_ok(connect().status()));
}

TEST_F(CoordinatorTest, WrongUseExitsWith2) {
  EXPECT_EQ(run_beelined({"--nonsense"}).first, 2);
  EXPECT_EQ(run_beelined({"--hive", "a/b"}).first, 2);
}

TEST_F(CoordinatorTest, BadClientsAreDroppedWithAReasonAndOthersNoticeNothing) {
  start();
  TestAgent lead = agent(named("lead"));
  const std::string half = build(Request(AttachRequest{}), 1).substr(0, 20);
  const std::vector<std::string> bad = {"garbage",
                                        half,
                                        std::string("\0\1\2", 3),
                                        R"({"op":"list"})",
                                        std::string(9000, '['),
                                        std::string(kMaxPacketBytes + 1, 'x')};
  for (const std::string& text : bad) {
    os::PacketSocket socket = raw_socket();
    ASSERT_TRUE(is_ok(socket.send(text)));
    const std::string words = last_words(socket);
    EXPECT_NE(words.find(R"("op":"error")"), std::string::npos) << words;
    EXPECT_NE(words.find("packet"), std::string::npos) << words;
    EXPECT_TRUE(is_ok(lead.client.status()));
  }
  EXPECT_EQ(lead.client.status()->dropped_clients, bad.size());
  EXPECT_EQ(lead.own_word().state, shm::AgentState::kRunning);
  EXPECT_TRUE(is_ok(agent(named("next")).client.status()));
}

// Each guest adds records to the socket, until it is full. REQUIRES: the keeper is stopped.
void fill_socket_of_keeper() {
  AttachRequest request;
  request.temporary = true;
  for (bool fits = true; fits;) {
    TestAgent guest;
    fits = guest.attach(request) && guest.client.detach({});
  }
}

// If the reader was told earlier and this coordinator died, the reader would take the link for a
// new one.
TEST_F(CoordinatorTest, AReaderMayForgetALinkOnceTheKeeperHasHeardOfIt) {
  start();
  TestAgent reader = agent(named("reader"));
  TestAgent owner = agent(named("owner"));
  ASSERT_TRUE(is_ok(owner.open(reader.pid())));
  const auto link = reader.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  ASSERT_TRUE(is_ok(owner.client.detach({})));
  const auto status = reader.client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_EQ(::kill(status->keeper_pid, SIGSTOP), 0);
  fill_socket_of_keeper();
  ASSERT_TRUE(is_ok(reader.client.fade(link->incarnation, link->serial)));
  ASSERT_TRUE(is_ok(reader.client.status()));
  while (const auto told = reader.client.try_next()) {
    EXPECT_EQ(std::get_if<FadedAnnouncement>(&*told), nullptr) << "nobody has heard of it";
  }
  ASSERT_EQ(::kill(status->keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(reader.next<FadedAnnouncement>().has_value());
}

TEST_F(CoordinatorTest, AHiveWhoseKeeperIsStoppedServesAndSaysWhyItDoesNotEnd) {
  start();
  Client client = connect();
  const auto status = client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_EQ(::kill(status->keeper_pid, SIGSTOP), 0);
  fill_socket_of_keeper();
  EXPECT_TRUE(is_ok(client.request(DownRequest{})));
  const auto hangs = [&] {
    const std::string text = log();
    const std::size_t first =
        text.find("event=keeper_hangs process=" + std::to_string(status->keeper_pid));
    if (first == std::string::npos) return 0;
    return text.find("event=keeper_hangs", first + 1) == std::string::npos ? 1 : 2;
  };
  EXPECT_TRUE(eventually([&] { return is_ok(client.status()) && hangs() != 0; }));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(is_ok(client.status()));
  EXPECT_EQ(hangs(), 1) << "once is enough";
  ASSERT_EQ(::kill(status->keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(root_ + "/hive"); }));
}

TEST_F(CoordinatorTest, AKeeperThatTakesNothingIsNamedThoughAllThatHappenedWasSaid) {
  start();
  Client client = connect();
  const auto status = client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_EQ(::kill(status->keeper_pid, SIGSTOP), 0);
  std::vector<TestAgent> guests(1);
  while (guests.back().attach(AttachRequest{})) guests.emplace_back();
  EXPECT_TRUE(eventually([&] { return log().find("event=keeper_hangs") != std::string::npos; }));
  EXPECT_FALSE(TestAgent().attach(AttachRequest{})) << "nobody is made whom the keeper knows not";
  EXPECT_TRUE(is_ok(client.status()));
  ASSERT_EQ(::kill(status->keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(eventually([] { return TestAgent().attach(AttachRequest{}).has_value(); }));
}

// The keeper was stopped during all of these packets, and has no free descriptor when it goes on.
// Packets with descriptors are lost, and only those.
TEST_F(CoordinatorTest, AKeeperHearsADeadCoordinatorOutThoughItLacksDescriptors) {
  start();
  TestAgent guest = agent(named("guest"));
  Client client = connect();
  const auto status = client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_EQ(::kill(status->keeper_pid, SIGSTOP), 0);
  const TestAgent late = agent(named("late"));
  ASSERT_TRUE(is_ok(guest.client.detach({})));
  rlimit usual{};
  ASSERT_EQ(::prlimit(status->keeper_pid, RLIMIT_NOFILE, nullptr, &usual), 0);
  const rlimit none{3, usual.rlim_max};  // as many as it polls
  ASSERT_EQ(::prlimit(status->keeper_pid, RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
  ASSERT_EQ(::kill(status->keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return log().find("event=restart_failed") != std::string::npos; }));
  ASSERT_EQ(::prlimit(status->keeper_pid, RLIMIT_NOFILE, &usual, nullptr), 0);
  const auto all = connect().list_all();
  ASSERT_TRUE(is_ok(all));
  const auto found = std::find_if(all->begin(), all->end(),
                                  [](const ListedAgent& each) { return each.name == "guest"; });
  ASSERT_NE(found, all->end());
  EXPECT_EQ(found->state, shm::AgentState::kAway) << "who has left is believed to live";
}

// The agent sleeps on its eventfd, and would only look again after its life was ended.
TEST_F(CoordinatorTest, AnAgentThatIsDroppedIsRungOnceItsConnectionHasEnded) {
  start();
  TestAgent lead = agent(named("lead"));
  reinterpret_cast<shm::StatusPage*>(lead.status.data())
      ->sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
  ASSERT_EQ(::send(lead.client.fd(), "garbage", 7, MSG_NOSIGNAL), 7);
  // The ring for the last answer, which the agent has read already, may come first.
  while (!lead.client.closed()) {
    ASSERT_TRUE(os::wait_readable(lead.event.get(), kLong));
    os::drain_event(lead.event.get());
    while (lead.client.try_next()) {
    }
  }
  EXPECT_TRUE(is_ok(lead.resume()));
}

// The stopped coordinator heard nobody, so an agent that asked meanwhile is not late.
TEST_F(CoordinatorTest, NobodyIsFencedByACoordinatorThatWasStopped) {
  start();
  TestAgent lead = agent(named("lead"));
  const auto status = connect().status();
  ASSERT_TRUE(is_ok(status));
  reinterpret_cast<shm::StatusPage*>(lead.status.data())
      ->sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
  lead.client.close();
  ASSERT_TRUE(os::wait_readable(lead.event.get(), kLong));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGSTOP), 0);
  const auto keeper = os::open_pidfd(status->keeper_pid);
  ASSERT_TRUE(is_ok(keeper));
  EXPECT_FALSE(os::wait_readable(keeper->get(), std::chrono::nanoseconds(kFenceNs)));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGCONT), 0);
  EXPECT_TRUE(is_ok(lead.resume()));
}

TEST_F(CoordinatorTest, AClientThatTakesNoAnswersIsDroppedAndOthersAreServed) {
  start();
  TestAgent lead = agent(named("lead"));
  os::PacketSocket socket = raw_socket();
  const std::string request = build(Request(ListRequest{}), 1);
  const bool dropped = eventually([&] {
    for (int i = 0; i < 200; ++i) {
      const auto sent = socket.try_send(request);
      if (!sent) return true;
    }
    EXPECT_TRUE(is_ok(lead.client.status()));
    return false;
  });
  EXPECT_TRUE(dropped);
  EXPECT_EQ(lead.client.status()->dropped_clients, 1U);
}

TEST_F(CoordinatorTest, DescriptorsThatNobodyAskedForDoNotPileUp) {
  start();
  Client client = connect();
  const auto coordinator = client.status()->coordinator_pid;
  const auto before = descriptors_of(coordinator);
  const int fd = STDERR_FILENO;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(is_ok(client.request(StatusRequest{}, std::vector<int>(8, fd))));
  }
  EXPECT_TRUE(eventually([&] { return descriptors_of(coordinator) == before; }));
}

TEST_F(CoordinatorTest, AKilledCoordinatorIsRestartedAndAgentsGoOn) {
  start();
  TestAgent a = agent(named("a"));
  TestAgent b = agent(named("b"));
  ASSERT_TRUE(is_ok(a.open(b.pid())));
  ASSERT_TRUE(b.next<AnnouncedLink>().has_value());
  const auto before = a.client.status();
  ASSERT_TRUE(is_ok(before));
  const std::uint64_t old_epoch = shm::DirectoryView(a.directory.data()).epoch();
  ASSERT_EQ(::kill(before->coordinator_pid, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    (void)b.client.try_next();
    return b.client.closed();
  }));

  for (TestAgent* agent : {&b, &a}) {
    auto resumed = agent->resume();
    ASSERT_TRUE(is_ok(resumed));
    EXPECT_EQ(resumed->index, agent->attached.index);
    EXPECT_GT(resumed->epoch, old_epoch);
    ASSERT_TRUE(is_ok(agent->map_directory(resumed->directory.get())));
    EXPECT_EQ(agent->own_word(),
              (shm::AgentWord{agent->attached.incarnation, shm::AgentState::kRunning}));
  }
  const auto link = b.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->pid, a.pid());
  EXPECT_TRUE(link->process);
  const auto again = a.open(b.pid(), true, 1U);
  ASSERT_TRUE(is_ok(again));
  EXPECT_TRUE(again->process);
  EXPECT_TRUE(again->may_send);
  const auto after = a.client.status();
  ASSERT_TRUE(is_ok(after));
  EXPECT_EQ(after->restarts, 1U);
  EXPECT_EQ(after->keeper_pid, before->keeper_pid);
  EXPECT_EQ(after->links, 1U);
  TestAgent c = agent(named("c"));
  EXPECT_GT(c.pid(), b.pid());
  EXPECT_GT(c.attached.incarnation, b.attached.incarnation);
}

TEST_F(CoordinatorTest, DeathsWhileTheCoordinatorIsDeadAreHandledAfterwards) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t child = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true) &&
           worker.open(lead.pid()).has_value();
  });
  const auto link = lead.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  ::kill(lead.client.status()->coordinator_pid, SIGKILL);
  kill_child(child);
  ASSERT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  EXPECT_TRUE(eventually([&] {
    const auto all = lead.client.list_all();
    return all && all->size() == 3 && (*all)[2].state == shm::AgentState::kAway;
  }));
  TestAgent successor;
  ASSERT_TRUE(is_ok(successor.attach(named("worker"))));
  EXPECT_EQ(successor.pid(), link->pid);
  EXPECT_EQ(successor.attached.predecessor, link->incarnation);
}

TEST_F(CoordinatorTest, ManyDeathsOfTheCoordinatorLoseNobody) {
  start();
  TestAgent lead = agent(named("lead"));
  for (int i = 0; i < 25; ++i) {
    const auto status = lead.client.status();
    ASSERT_TRUE(is_ok(status));
    ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
    ASSERT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  }
  EXPECT_EQ(lead.client.status()->restarts, 25U);
  EXPECT_EQ(lead.client.list_all()->size(), 2U);
}

TEST_F(CoordinatorTest, IfTheKeeperDiesEverythingEndsAndAgentsComeBackToANewHive) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker", "lead"));
  const auto status = lead.client.status();
  ASSERT_TRUE(is_ok(status));
  auto coordinator = os::open_pidfd(status->coordinator_pid);
  ASSERT_TRUE(is_ok(coordinator));
  ::kill(status->keeper_pid, SIGKILL);
  EXPECT_TRUE(os::wait_readable(coordinator->get(), kLong));

  // The first client starts a new coordinator; living agents register again and keep pid and name.
  ASSERT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  ASSERT_TRUE(is_ok(worker.resume()));
  const auto all = lead.client.list_all();
  ASSERT_TRUE(is_ok(all));
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[2].pid, worker.pid());
  EXPECT_EQ((*all)[2].parent, lead.pid());
  TestAgent next = agent(named("next"));
  EXPECT_GT(next.pid(), worker.pid());
}

TEST_F(CoordinatorTest, AnAgentThatReturnsToANewHiveAndFindsItsNameTakenHasEnded) {
  start();
  TestAgent worker = agent(named("worker"));
  const auto status = worker.client.status();
  ASSERT_TRUE(is_ok(status));
  auto coordinator = os::open_pidfd(status->coordinator_pid);
  ASSERT_TRUE(is_ok(coordinator));
  ::kill(status->keeper_pid, SIGKILL);
  EXPECT_TRUE(os::wait_readable(coordinator->get(), kLong));
  TestAgent other = agent(named("worker"));
  EXPECT_TRUE(has_error(worker.resume(), ErrorCode::kPeerDead,
                        "belongs to PID " + std::to_string(other.pid())));
  EXPECT_EQ(other.own_word().state, shm::AgentState::kRunning);
}

// A client that finds another one starting the hive waits 5 s for it. On a busy machine it asks
// again.
Result<StatusAnswer> ask_as_first_user() {
  Result<Client> client = fail(ErrorCode::kNoCoordinator, "nobody was asked");
  (void)eventually([&] {
    client = Client::connect();
    return client || client.error().code != ErrorCode::kNoCoordinator;
  });
  if (!client) return tl::unexpected(client.error());
  return client->status();
}

TEST_F(CoordinatorTest, EightFirstUsersStartOneCoordinator) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto status = ask_as_first_user();
      if (!status) std::cerr << status.error().text << '\n';
      if (!status || status->restarts != 0) ::_exit(1);
      const pid_t keeper = status->keeper_pid;
      ::_exit(::write(ends[1], &keeper, sizeof(keeper)) == sizeof(keeper) ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(ends[1]);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<pid_t> keepers(children.size() + 1);
  const ssize_t bytes = ::read(ends[0], keepers.data(), keepers.size() * sizeof(pid_t));
  ::close(ends[0]);
  keepers.resize(bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(pid_t) : 0);
  EXPECT_EQ(keepers, std::vector<pid_t>(children.size(), connect().status()->keeper_pid));
}

TEST_F(CoordinatorTest, NobodyIsStartedIfToldNotTo) {
  ClientOptions options;
  options.start = false;
  EXPECT_TRUE(has_error(Client::connect(options), ErrorCode::kNoCoordinator, "beeline up"));
}

TEST_F(CoordinatorTest, DownTellsEverybodyAndRemovesEverything) {
  start();
  TestAgent lead = agent(named("lead"));
  const auto status = lead.client.status();
  ASSERT_TRUE(is_ok(status));
  auto coordinator = os::open_pidfd(status->coordinator_pid);
  auto keeper = os::open_pidfd(status->keeper_pid);
  EXPECT_TRUE(is_ok(connect().down()));
  EXPECT_TRUE(lead.next<ShutdownAnnouncement>().has_value());
  EXPECT_TRUE(os::has_exited(coordinator->get()));
  EXPECT_TRUE(os::has_exited(keeper->get()));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/hive"));
}

TEST_F(CoordinatorTest, ATermSignalToTheKeeperIsAnOrderlyEnd) {
  start();
  TestAgent lead = agent(named("lead"));
  const auto status = lead.client.status();
  ASSERT_TRUE(is_ok(status));
  auto keeper = os::open_pidfd(status->keeper_pid);
  ::kill(status->keeper_pid, SIGTERM);
  EXPECT_TRUE(os::wait_readable(keeper->get(), kLong));
  EXPECT_TRUE(lead.next<ShutdownAnnouncement>().has_value());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/hive"));
}

}  // namespace
}  // namespace beeline::control
