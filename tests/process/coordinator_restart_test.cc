// State that a hive keeps over the death of its coordinator: the dead and their messages, the tree,
// the untold deaths, and the agents that still read the directory of the last coordinator.

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>

#include "coordinator_fixture.h"
#include "src/segment/foreign.h"

namespace beeline::control {
namespace {

class RestartTest : public CoordinatorTest {
 protected:
  static AttachRequest temporary(std::string name, std::string parent = "") {
    AttachRequest request = named(std::move(name), std::move(parent));
    request.temporary = true;
    return request;
  }

  // Kills the coordinator and returns once the next one serves.
  static void restart_coordinator() {
    Client client = connect();
    const auto status = client.status();
    ASSERT_TRUE(is_ok(status));
    ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] {
      const auto fresh = Client::connect();
      if (!fresh) return false;
      const auto now = const_cast<Client&>(*fresh).status();
      return now && now->restarts > status->restarts;
    }));
  }

  // An agent that is finally dead, with an unread message in its link to `reader`.
  void leave_a_message(const std::string& name, TestAgent& reader) {
    const pid_t child = spawn([&](TestAgent& sender) {
      if (!sender.attach(temporary(name)) || !sender.provide(true)) return false;
      if (!sender.open(reader.pid())) return false;
      sender.publish(1, 0);
      return true;
    });
    kill_child(child);
    EXPECT_TRUE(eventually([&] { return state_of(name) == shm::AgentState::kDead; }));
  }

  static std::optional<ListedAgent> find(const std::string& name) {
    Client client = connect();
    const auto all = client.list_all();
    if (!all) return std::nullopt;
    const auto found = std::find_if(all->rbegin(), all->rend(),
                                    [&](const ListedAgent& agent) { return agent.name == name; });
    if (found == all->rend()) return std::nullopt;
    return *found;
  }
  static shm::AgentState state_of(const std::string& name) {
    const auto found = find(name);
    return found ? found->state : shm::AgentState::kVacant;
  }
  static Pid parent_of(const std::string& name) {
    const auto found = find(name);
    return found ? found->parent : kNoPid;
  }

  // Makes the coordinator forget the dead that nobody needs: it remembers 256.
  static void flush_the_dead() {
    for (int i = 0; i < 260; ++i) {
      TestAgent once = agent(temporary("flush-" + std::to_string(i)));
      ASSERT_TRUE(is_ok(once.client.detach({})));
    }
  }
};

void expect_message(AnnouncedLink& link, Pid reader) {
  auto mapped = segment::Foreign::accept_link(std::move(link.link), link.contract, link.pid, reader,
                                              {link.incarnation, link.serial});
  ASSERT_TRUE(is_ok(mapped));
  const shm::LinkView view(mapped->data(), link.contract);
  EXPECT_TRUE(shm::is_published(view.slot(shm::Lane::kNormal, 0), 0));
}

// ---- Messages of the dead -----------------------------------------------------------------------

TEST_F(RestartTest, ARunningReaderIsToldAgainOfTheUnreadLinksOfTheDead) {
  start();
  TestAgent lead = agent(named("lead"));
  leave_a_message("once", lead);
  restart_coordinator();
  const auto resumed = lead.resume();
  ASSERT_TRUE(is_ok(resumed));
  EXPECT_EQ(resumed->in_links, 1U);
  auto link = lead.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->name, "once");
  EXPECT_FALSE(link->process);
  ASSERT_NO_FATAL_FAILURE(expect_message(*link, lead.pid()));
  // No more messages come in it: the directory of the new coordinator shows that in the owner's old
  // place.
  ASSERT_TRUE(is_ok(lead.map_directory(resumed->directory.get())));
  const shm::AgentWord word = lead.word(link->index);
  EXPECT_GE(word.incarnation, link->incarnation);
  EXPECT_NE(word.state, shm::AgentState::kRunning);
}

TEST_F(RestartTest, AnAgentThatWasAwayGetsTheUnreadLinksOfTheDead) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  leave_a_message("once", lead);
  for (int i = 0; i < 2; ++i) {
    restart_coordinator();
    TestAgent successor;
    ASSERT_TRUE(is_ok(successor.attach(named("lead"))));
    EXPECT_EQ(successor.attached.in_links, 1U);
    auto link = successor.next<AnnouncedLink>();
    ASSERT_TRUE(link.has_value());
    ASSERT_NO_FATAL_FAILURE(expect_message(*link, successor.pid()));
    ASSERT_TRUE(is_ok(successor.client.detach({})));
  }
  // After the link has faded nothing of it is left.
  TestAgent last = agent(named("lead"));
  const auto link = last.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  ASSERT_TRUE(is_ok(last.client.fade(link->incarnation, link->serial)));
  EXPECT_TRUE(last.next<FadedAnnouncement>().has_value());
  EXPECT_EQ(last.client.status()->links, 1U) << "its reader has not said that it forgot it";
  ASSERT_TRUE(is_ok(last.client.fade(link->incarnation, link->serial, true)));
  EXPECT_EQ(last.client.status()->links, 0U);
  ASSERT_NO_FATAL_FAILURE(flush_the_dead());
  EXPECT_FALSE(find("once").has_value());
  restart_coordinator();
  EXPECT_FALSE(find("once").has_value());
  const auto resumed = last.resume();
  ASSERT_TRUE(is_ok(resumed));
  EXPECT_EQ(resumed->in_links, 0U);
}

TEST_F(RestartTest, ADeathIsTakenOverOnceNobodyReadsTheOldDirectoryAnyMore) {
  start();
  TestAgent sender = agent(named("sender"));
  const pid_t child = spawn([&](TestAgent& receiver) {
    return receiver.attach(temporary("receiver")) && receiver.provide(true);
  });
  const auto receiver = find("receiver");
  ASSERT_TRUE(receiver.has_value());
  ASSERT_TRUE(is_ok(sender.open(receiver->pid)));
  restart_coordinator();
  kill_child(child);
  EXPECT_TRUE(eventually([&] { return state_of("receiver") == shm::AgentState::kDead; }));
  Client client = connect();
  for (int turn = 0; turn < 50; ++turn) ASSERT_TRUE(is_ok(client.status()));

  // The old directory says that the receiver runs.
  EXPECT_EQ(sender.word(receiver->index).state, shm::AgentState::kRunning);
  sender.publish(1, 0);
  ASSERT_TRUE(is_ok(sender.resume()));
  // It may not have read the answer yet; its next request shows that it has.
  for (int turn = 0; turn < 50; ++turn) ASSERT_TRUE(is_ok(client.status()));
  EXPECT_EQ(client.status()->dead_letters, 0U);
  EXPECT_TRUE(has_error(sender.open(receiver->pid, true, 1U), ErrorCode::kPeerDead));
  EXPECT_TRUE(eventually([&] { return client.status()->dead_letters == 1; }));
  EXPECT_TRUE(eventually([&] { return client.status()->links == 0; }));
}

TEST_F(RestartTest, ADeathIsTakenOverOnceItsSendersHaveEnded) {
  start();
  const pid_t receiver = spawn(
      [&](TestAgent& self) { return self.attach(temporary("receiver")) && self.provide(true); });
  const auto listed = find("receiver");
  ASSERT_TRUE(listed.has_value());
  const pid_t sender = spawn([&](TestAgent& self) {
    if (!self.attach(named("sender")) || !self.provide(true)) return false;
    if (!self.open(listed->pid)) return false;
    self.publish(1, 0);
    return true;
  });
  restart_coordinator();
  kill_child(receiver);
  EXPECT_TRUE(eventually([&] { return state_of("receiver") == shm::AgentState::kDead; }));
  Client client = connect();
  for (int turn = 0; turn < 50; ++turn) ASSERT_TRUE(is_ok(client.status()));
  EXPECT_EQ(client.status()->dead_letters, 0U);
  kill_child(sender);
  EXPECT_TRUE(eventually([&] { return client.status()->dead_letters == 1; }));
}

// ---- Pids ---------------------------------------------------------------------------------------

// Dead agents that nobody needs are forgotten after a while, and their pids too. So new pids start
// above all that the file had reserved, not above the known ones.
TEST_F(RestartTest, AStateFileThatCannotBeParsedGivesNoPidOutTwice) {
  for (const std::string broken : {"{\"next_pid\": ", "", "[]", "{}"}) {
    SCOPED_TRACE("state.json: '" + broken + "'");
    start();
    TestAgent lead = agent(named("lead"));
    const std::string path = root_ + "/hive/state.json";
    std::ostringstream before;
    before << std::ifstream(path).rdbuf();
    const std::string key = "\"next_pid\":";
    ASSERT_NE(before.str().find(key), std::string::npos) << before.str();
    const auto reserved = std::stoul(before.str().substr(before.str().find(key) + key.size()));
    EXPECT_GT(reserved, lead.pid());
    std::ofstream(path, std::ios::trunc) << broken;
    ASSERT_NO_FATAL_FAILURE(restart_coordinator());
    std::ostringstream after;  // before any agent takes a pid, because the keeper may be lost next
    after << std::ifstream(path).rdbuf();
    EXPECT_NE(after.str().find(key + std::to_string(reserved)), std::string::npos) << after.str();
    EXPECT_GE(agent(temporary("")).pid(), reserved);
    std::ifstream aside(path + ".bad");
    ASSERT_TRUE(aside.good()) << "what was found there is kept for people to look at";
    std::ostringstream text;
    text << aside.rdbuf();
    EXPECT_EQ(text.str(), broken);
    std::ifstream file(root_ + "/beelined.log");
    std::ostringstream log;
    log << file.rdbuf();
    EXPECT_NE(log.str().find("event=state_broken"), std::string::npos);
    EXPECT_TRUE(is_ok(connect().down()));
    std::filesystem::remove(root_ + "/beelined.log");
  }
}

// ---- The tree -----------------------------------------------------------------------------------

TEST_F(RestartTest, OrphansOfTheDeadKeepTheirBranch) {
  start();
  TestAgent queen = agent(named("queen"));
  TestAgent lead = agent(temporary("lead", "queen"));
  TestAgent worker = agent(named("worker", "lead"));
  TestAgent away = agent(named("away", "lead"));
  TestAgent half;
  ASSERT_TRUE(is_ok(half.attach(named("half", "lead"))));
  ASSERT_TRUE(is_ok(away.client.detach({})));
  ASSERT_TRUE(is_ok(half.client.detach({})));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  const auto expect_parent = [&](Pid parent) {
    for (const char* name : {"worker", "away", "half"}) EXPECT_EQ(parent_of(name), parent) << name;
  };
  restart_coordinator();
  expect_parent(lead.pid());
  EXPECT_EQ(parent_of("lead"), queen.pid());
  ASSERT_NO_FATAL_FAILURE(flush_the_dead());
  expect_parent(queen.pid());
  restart_coordinator();
  expect_parent(queen.pid());
  EXPECT_EQ(state_of("half"), shm::AgentState::kAway);
}

TEST_F(RestartTest, RestartsOfAnAgentAreCountedOverARestartOfTheCoordinator) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  TestAgent second = agent(named("lead"));
  restart_coordinator();
  const auto resumed = second.resume();
  ASSERT_TRUE(is_ok(resumed));
  ASSERT_TRUE(is_ok(second.map_directory(resumed->directory.get())));
  shm::AgentRecord record{};
  ASSERT_TRUE(shm::DirectoryView(second.directory.data()).read_record(resumed->index, record));
  EXPECT_EQ(record.restarts, 1U);
}

// The coordinator sees the end of a connection only once.
TEST_F(RestartTest, AnAgentThatLostItsConnectionBeforeTheRestartIsFencedAfterIt) {
  start();
  TestAgent back = agent(named("back"));
  TestAgent worker = agent(named("worker"));
  for (TestAgent* each : {&back, &worker}) {
    reinterpret_cast<shm::StatusPage*>(each->status.data())
        ->sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
    each->client.close();
    ASSERT_TRUE(os::wait_readable(each->event.get(), kLong));
  }
  ASSERT_TRUE(is_ok(back.resume()));
  restart_coordinator();
  EXPECT_TRUE(eventually([&] { return state_of("worker") == shm::AgentState::kAway; }));
  EXPECT_EQ(state_of("back"), shm::AgentState::kRunning) << "it had resumed, and is busy";
}

TEST_F(RestartTest, ATemporarySuccessorThatIsNeverReadyLeavesThePersistentAgentAway) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  for (const bool restarted : {false, true}) {
    const pid_t child = spawn(
        [&](TestAgent& successor) { return successor.attach(temporary("lead")).has_value(); });
    if (restarted) restart_coordinator();
    kill_child(child);
    EXPECT_TRUE(eventually([&] { return state_of("lead") != shm::AgentState::kStarting; }));
    EXPECT_EQ(state_of("lead"), shm::AgentState::kAway);
  }
  TestAgent next;
  ASSERT_TRUE(is_ok(next.attach(named("lead"))));
  EXPECT_EQ(next.pid(), lead.pid());
  EXPECT_EQ(next.attached.predecessor, lead.attached.incarnation);
}

// ---- Deaths that the parent was not told of -----------------------------------------------------

TEST_F(RestartTest, AParentThatHasNotResumedYetIsToldOfDeathsLater) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t child = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true);
  });
  restart_coordinator();
  kill_child(child);
  EXPECT_TRUE(eventually([&] { return state_of("worker") == shm::AgentState::kAway; }));
  ASSERT_TRUE(is_ok(lead.resume()));
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->name, "worker");
  EXPECT_EQ(died->state, shm::AgentState::kAway);
}

TEST_F(RestartTest, AParentThatWasAwayIsToldOfTheNewestDeaths) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  for (int i = 0; i < 300; ++i) {
    TestAgent worker = agent(temporary("worker-" + std::to_string(i), "lead"));
    ASSERT_TRUE(is_ok(worker.client.detach({})));
  }
  TestAgent successor = agent(named("lead"));
  for (int i = 300 - 256; i < 300; ++i) {
    const auto died = successor.next<DiedAnnouncement>();
    ASSERT_TRUE(died.has_value());
    EXPECT_EQ(died->name, "worker-" + std::to_string(i));
  }
  ASSERT_TRUE(is_ok(successor.client.status()));
  EXPECT_FALSE(successor.next<DiedAnnouncement>(0s).has_value());
}

constexpr std::size_t kAnswers = 5000;  // more than a socket holds, fewer than may wait

// Fills it with answers that the agent does not read.
void fill_socket_of(TestAgent& agent) {
  for (std::uint32_t i = 1; i <= kAnswers; ++i) {
    // The link does not exist: it has faded.
    ASSERT_TRUE(eventually([&] { return agent.client.fade(shm::Incarnation(1), i).has_value(); }));
  }
  int unread = -1;
  ASSERT_TRUE(eventually([&] {
    return ::ioctl(agent.client.fd(), SIOCOUTQ, &unread) == 0 && unread == 0;
  })) << unread
      << " bytes of its requests wait to be read";
}

// 'T' for a stopped process.
char state_of_process(pid_t process) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? '?' : text.at(name_end + 2);
}

struct Arrived {
  std::size_t answers = 0;
  std::size_t deaths = 0;
};

// All packets in its socket. REQUIRES: the coordinator writes nothing more into it.
Arrived read_socket_of(TestAgent& agent) {
  Arrived arrived;
  while (auto announcement = agent.client.try_next()) {
    if (std::holds_alternative<FadedAnnouncement>(*announcement)) ++arrived.answers;
    if (std::holds_alternative<DiedAnnouncement>(*announcement)) ++arrived.deaths;
  }
  return arrived;
}

// The parent behaves as if it was stopped: it reads nothing, its socket is full, and announcements
// to it wait at the coordinator. One of its children ends twice.
TEST_F(RestartTest, AParentThatDoesNotReadIsToldOfEachDeathOnceByTheNextCoordinator) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_NO_FATAL_FAILURE(fill_socket_of(lead));
  std::vector<shm::Incarnation> ended;
  for (const char* name : {"first", "second", "first", "third"}) {
    TestAgent worker = agent(named(name, "lead"));
    ASSERT_TRUE(is_ok(worker.client.detach({})));
    ended.push_back(worker.attached.incarnation);
  }
  restart_coordinator();
  const Arrived before = read_socket_of(lead);
  ASSERT_LT(before.answers, kAnswers) << "its socket was not full";
  ASSERT_EQ(before.deaths, 0U);
  ASSERT_TRUE(is_ok(lead.resume()));
  std::vector<shm::Incarnation> told;
  while (told.size() < ended.size()) {
    const auto died = lead.next<DiedAnnouncement>();
    ASSERT_TRUE(died.has_value()) << told.size() << " of " << ended.size() << " deaths were told";
    told.push_back(died->incarnation);
  }
  ASSERT_TRUE(is_ok(lead.client.status()));  // other announcements come before the answer
  EXPECT_FALSE(lead.next<DiedAnnouncement>(0s).has_value()) << "it was told of one of them twice";
  EXPECT_EQ(told, ended);
}

TEST_F(RestartTest, AParentThatReadsAgainIsToldOfTheDeathsThatFoundNoRoom) {
  start();
  TestAgent lead = agent(named("lead"));
  Client client = connect();
  const pid_t coordinator = client.status()->coordinator_pid;
  ASSERT_NO_FATAL_FAILURE(fill_socket_of(lead));
  TestAgent worker = agent(named("worker", "lead"));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return state_of_process(coordinator) == 'T'; }));
  const Arrived before = read_socket_of(lead);
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);
  ASSERT_LT(before.answers, kAnswers) << "its socket was not full";
  ASSERT_EQ(before.deaths, 0U);
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->incarnation, worker.attached.incarnation);
}

// The coordinator forgets other deaths after 256 more, or after a minute; but not these.
TEST_F(RestartTest, TheNextCoordinatorKnowsAnUntoldDeathHoweverManyHaveDiedSince) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_NO_FATAL_FAILURE(fill_socket_of(lead));
  TestAgent worker = agent(temporary("worker", "lead"));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  ASSERT_NO_FATAL_FAILURE(flush_the_dead());
  restart_coordinator();
  ASSERT_TRUE(is_ok(lead.resume()));
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->incarnation, worker.attached.incarnation);
  EXPECT_EQ(died->state, shm::AgentState::kDead);
}

// An agent does so if it cannot use the answer to its new registration.
TEST_F(RestartTest, ADeathThatWasToldIsKnownThoughTheConnectionIsGivenUp) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker", "lead"));
  ASSERT_TRUE(is_ok(worker.open(lead.pid())));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  lead.client.close();
  std::size_t deaths = 0;
  while (const auto told = lead.client.try_next()) {
    deaths += std::holds_alternative<DiedAnnouncement>(*told) ? 1 : 0;
    EXPECT_FALSE(std::holds_alternative<AnnouncedLink>(*told)) << "it is announced again";
  }
  EXPECT_EQ(deaths, 1U);
  ASSERT_TRUE(is_ok(lead.resume()));
  EXPECT_TRUE(lead.next<AnnouncedLink>().has_value());
}

// A forked child may hold the socket: then nobody reads it any more.
TEST_F(RestartTest, ADeathThatComesAfterTheConnectionWasGivenUpIsToldInTheNextOne) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t child = spawn([](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true);
  });
  const auto held = os::duplicate(lead.client.fd());
  ASSERT_TRUE(is_ok(held));
  lead.client.close();
  kill_child(child);
  EXPECT_TRUE(eventually([&] { return state_of("worker") == shm::AgentState::kAway; }));
  ASSERT_TRUE(is_ok(lead.resume()));
  EXPECT_TRUE(lead.next<DiedAnnouncement>().has_value());
}

// The descriptors of an announced link find no room; behind the link, a death is announced.
TEST_F(RestartTest, ALinkWhoseDescriptorsFoundNoRoomIsAnnouncedAgainOnTheSameConnection) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t child = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true) &&
           worker.open(lead.pid());
  });
  kill_child(child);
  EXPECT_TRUE(eventually([&] { return state_of("worker") == shm::AgentState::kAway; }));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{3, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto bare = lead.next<AnnouncedLink>();
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_TRUE(bare.has_value() && died.has_value());
  EXPECT_EQ(died->name, "worker");
  EXPECT_FALSE(bare->link.valid());
  ASSERT_TRUE(is_ok(lead.client.tell(bare->incarnation, bare->serial)));
  const auto whole = lead.next<AnnouncedLink>();
  ASSERT_TRUE(whole.has_value() && whole->link.valid() && whole->serial == bare->serial);
  ASSERT_TRUE(is_ok(lead.client.tell(bare->incarnation, bare->serial + 1)));
  EXPECT_TRUE(lead.next<FadedAnnouncement>().has_value()) << "there is no such link";
}

}  // namespace
}  // namespace beeline::control
