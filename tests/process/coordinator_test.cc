// The coordinator as its clients see it: attach, open, deaths, takeover.

#include "coordinator_fixture.h"

#include <sched.h>
#include <sys/socket.h>

#include "src/segment/foreign.h"

namespace beeline::control {
namespace {

TEST_F(CoordinatorTest, AgentsAttachAreListedAndRouted) {
  start();
  TestAgent lead = agent(named("lead"));
  AttachRequest task = named("", "lead");
  task.role = Role::kTask;
  TestAgent worker = agent(task);
  EXPECT_EQ(lead.attached.parent_pid, kKingPid);
  EXPECT_EQ(worker.attached.parent_pid, lead.pid());
  EXPECT_GT(worker.pid(), lead.pid());
  EXPECT_GT(worker.attached.incarnation, lead.attached.incarnation);
  EXPECT_EQ(worker.attached.name, "task-" + std::to_string(worker.pid()));
  EXPECT_EQ(lead.own_word(),
            (shm::AgentWord{lead.attached.incarnation, shm::AgentState::kRunning}));

  Client client = connect();
  const auto all = client.list_all();
  ASSERT_TRUE(is_ok(all));
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].name, "king");
  EXPECT_EQ((*all)[1].name, "lead");
  EXPECT_EQ((*all)[1].os_pid, ::getpid());
  EXPECT_EQ((*all)[2].role, Role::kTask);
  const auto allowed = client.route("lead", worker.attached.name);
  ASSERT_TRUE(is_ok(allowed));
  EXPECT_TRUE(allowed->allowed);
  EXPECT_EQ(allowed->rule, "child");
  const auto denied = client.route(std::to_string(worker.pid()), worker.attached.name);
  ASSERT_TRUE(is_ok(denied));
  EXPECT_EQ(denied->rule, "task_to_parent_only");
  EXPECT_TRUE(has_error(client.route("lead", "nobody"), ErrorCode::kNoAgent, "nobody"));
  const auto status = client.status();
  ASSERT_TRUE(is_ok(status));
  EXPECT_EQ(status->running, 3U);
  EXPECT_EQ(status->restarts, 0U);

  shm::AgentRecord record{};
  ASSERT_TRUE(shm::DirectoryView(lead.directory.data()).read_record(worker.attached.index, record));
  EXPECT_EQ(record.pid, worker.pid());
  EXPECT_EQ(record.parent_pid, lead.pid());
}

TEST_F(CoordinatorTest, HK_102_TheListShowsTheStateThatAnAgentReports) {
  start();
  TestAgent lead = agent(named("lead"));
  auto& page = *reinterpret_cast<shm::StatusPage*>(lead.status.data());
  Client client = connect();
  const auto listed = [&] { return client.list_all()->at(1); };
  for (const auto activity : {shm::AgentActivity::kRunning, shm::AgentActivity::kBlocked,
                              shm::AgentActivity::kSleeping, shm::AgentActivity::kIdle}) {
    page.activity.publish(static_cast<std::uint32_t>(activity));
    EXPECT_EQ(listed().activity, activity);
  }
  page.activity.publish(77);
  EXPECT_EQ(listed().activity, shm::AgentActivity::kIdle) << "a hostile writer";
  EXPECT_EQ(listed().restarts, 0U);
  const std::uint64_t attached_ns = listed().attached_ns;
  EXPECT_GT(attached_ns, 0U);
  EXPECT_GE(attached_ns, client.list_all()->at(0).attached_ns) << "the king came first";

  page.activity.publish(1);
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  EXPECT_EQ(listed().activity, shm::AgentActivity::kIdle) << "it has no process";
  TestAgent again;
  ASSERT_TRUE(is_ok(again.attach(named("lead"))));
  EXPECT_EQ(listed().state, shm::AgentState::kStarting);
  EXPECT_EQ(listed().activity, shm::AgentActivity::kIdle);
  ASSERT_TRUE(is_ok(again.provide(true)));
  EXPECT_EQ(listed().restarts, 1U);
  EXPECT_EQ(listed().attached_ns, attached_ns);
}

TEST_F(CoordinatorTest, AttachRefusesWhatIsWrongWithAReason) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent other;
  EXPECT_TRUE(has_error(other.attach(named("lead")), ErrorCode::kAlreadyRunning,
                        "process " + std::to_string(::getpid())));
  EXPECT_TRUE(has_error(other.attach(named("king")), ErrorCode::kAlreadyRunning));
  EXPECT_TRUE(has_error(other.attach(named("x", "nobody")), ErrorCode::kNoAgent, "nobody"));
  EXPECT_TRUE(has_error(other.attach(named("a/b")), ErrorCode::kInvalid, "'/'"));
  AttachRequest old = named("old");
  old.layout = "0.9";
  EXPECT_TRUE(has_error(other.attach(old), ErrorCode::kWrongVersion, "0.9"));
  AttachRequest king = named("false-king");
  king.role = Role::kKernel;
  EXPECT_TRUE(has_error(other.attach(king), ErrorCode::kDenied));
  EXPECT_TRUE(has_error(lead.client.attach(named("twice")), ErrorCode::kInvalid));
  Client stranger = connect();
  EXPECT_TRUE(has_error(stranger.ready(), ErrorCode::kInvalid, "after attach"));
}

TEST_F(CoordinatorTest, ALinkReachesItsReaderWithTheBellOfItsOwner) {
  start();
  TestAgent a = agent(named("a"));
  TestAgent b = agent(named("b"));
  const auto opened = a.open(b.pid());
  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(opened->incarnation, b.attached.incarnation);
  EXPECT_EQ(opened->index, b.attached.index);
  EXPECT_TRUE(opened->may_send);
  EXPECT_TRUE(opened->process);

  auto link = b.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->pid, a.pid());
  EXPECT_EQ(link->name, "a");
  EXPECT_EQ(link->incarnation, a.attached.incarnation);
  EXPECT_TRUE(link->may_send);
  EXPECT_FALSE(link->mine.has_value());
  ASSERT_TRUE(link->event.valid());
  os::signal_event(link->event.get());
  EXPECT_TRUE(os::drain_event(a.event.get()));
  a.publish(1, 0);
  auto mapped = segment::Foreign::accept_link(std::move(link->link), link->contract, a.pid(),
                                              b.pid(), {link->incarnation, link->serial});
  ASSERT_TRUE(is_ok(mapped));
  const shm::LinkView view(mapped->data(), link->contract);
  EXPECT_TRUE(shm::is_published(view.slot(shm::Lane::kNormal, 0), 0));

  // The same request gets the same answer again; a second link for the same pair is refused.
  EXPECT_TRUE(is_ok(a.open(b.pid(), false, 1U)));
  EXPECT_TRUE(has_error(a.open(b.pid()), ErrorCode::kInvalid, "serial 1"));
}

TEST_F(CoordinatorTest, AnAnnouncementRingsASleepingReader) {
  start();
  TestAgent a = agent(named("a"));
  TestAgent b = agent(named("b"));
  reinterpret_cast<shm::StatusPage*>(b.status.data())
      ->sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
  ASSERT_TRUE(is_ok(a.open(b.pid())));
  EXPECT_TRUE(os::drain_event(b.event.get()));
}

TEST_F(CoordinatorTest, OpenFollowsTheRoutingRules) {
  start();
  TestAgent lead = agent(named("lead"));
  AttachRequest request = named("task", "lead");
  request.role = Role::kTask;
  TestAgent task = agent(request);
  TestAgent worker = agent(named("worker", "lead"));
  EXPECT_TRUE(
      has_error(task.open(worker.pid()), ErrorCode::kDenied, "can only send to its parent"));
  EXPECT_TRUE(has_error(task.open(999), ErrorCode::kNoAgent, "999"));
  const auto to_parent = task.open(lead.pid());
  ASSERT_TRUE(is_ok(to_parent));
  EXPECT_TRUE(to_parent->may_send);
  // The receiver of a link may show its receipts, and nothing more.
  ASSERT_TRUE(is_ok(worker.open(task.pid())));
  const auto receipts = task.open(worker.pid());
  ASSERT_TRUE(is_ok(receipts));
  EXPECT_FALSE(receipts->may_send);
  const auto announced = worker.next<AnnouncedLink>();
  ASSERT_TRUE(announced.has_value());
  EXPECT_FALSE(announced->may_send);
}

TEST_F(CoordinatorTest, SegmentsThatDifferFromTheirDescriptionAreRefused) {
  start();
  TestAgent a = agent(named("a"));
  TestAgent b;
  ASSERT_TRUE(is_ok(b.attach(named("b"))));
  b.make_segments();
  EXPECT_TRUE(has_error(b.client.provide(b.status.fd(), b.status.fd(), b.event.get(), true),
                        ErrorCode::kBadSegment));
  EXPECT_TRUE(has_error(b.client.provide(a.home.fd(), b.status.fd(), b.event.get(), true),
                        ErrorCode::kBadSegment, "owner differs"));
  EXPECT_FALSE(b.client.provide(b.home.fd(), b.status.fd(), b.home.fd(), true).has_value());
  EXPECT_EQ(b.own_word().state, shm::AgentState::kStarting);
  EXPECT_TRUE(is_ok(b.client.provide(b.home.fd(), b.status.fd(), b.event.get(), true)));
  OpenRequest wrong;
  wrong.to = a.pid();
  wrong.serial = 7;
  EXPECT_TRUE(has_error(b.client.open(wrong, b.home.fd()), ErrorCode::kBadSegment));
  wrong.contract.normal_slots = 3;
  EXPECT_TRUE(has_error(b.client.open(wrong, b.home.fd()), ErrorCode::kInvalid, "power of two"));
  wrong.contract = {};
  wrong.contract.max_payload_bytes = shm::kMaxMaxPayload;
  EXPECT_TRUE(has_error(b.client.open(wrong, b.home.fd()), ErrorCode::kTooBig));
}

TEST_F(CoordinatorTest, DeathIsSeenByThePidfdAndTheSuccessorGetsTheOtherMessages) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t child = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true) &&
           worker.open(lead.pid()).has_value();
  });
  const auto link = lead.next<AnnouncedLink>();
  ASSERT_TRUE(link.has_value());
  ASSERT_TRUE(is_ok(lead.open(link->pid)));
  EXPECT_EQ(lead.word(link->index).state, shm::AgentState::kRunning);
  reinterpret_cast<shm::StatusPage*>(lead.status.data())
      ->sleep.publish(static_cast<std::uint32_t>(shm::Sleep::kEvent));
  kill_child(child);

  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->pid, link->pid);
  EXPECT_EQ(died->name, "worker");
  EXPECT_EQ(died->incarnation, link->incarnation);
  EXPECT_EQ(died->state, shm::AgentState::kAway);
  EXPECT_EQ(lead.word(link->index), (shm::AgentWord{link->incarnation, shm::AgentState::kAway}));
  EXPECT_TRUE(eventually([&] { return os::drain_event(lead.event.get()); }));
  // Sends go on: a link can be opened to an agent that is away.
  EXPECT_TRUE(is_ok(lead.open(link->pid, false, 1U)));

  TestAgent successor;
  ASSERT_TRUE(is_ok(successor.attach(named("worker"))));
  EXPECT_EQ(successor.pid(), link->pid);
  EXPECT_EQ(successor.attached.index, link->index);
  EXPECT_EQ(successor.attached.parent_pid, lead.pid());
  EXPECT_EQ(successor.attached.predecessor, link->incarnation);
  EXPECT_GT(successor.attached.incarnation, link->incarnation);
  EXPECT_TRUE(successor.attached.home.valid());
  ASSERT_EQ(successor.attached.in_links, 1U);
  const auto in_link = successor.next<AnnouncedLink>();
  ASSERT_TRUE(in_link.has_value());
  EXPECT_EQ(in_link->pid, lead.pid());
  ASSERT_TRUE(in_link->mine.has_value());
  EXPECT_EQ(in_link->mine->serial, link->serial);
  EXPECT_TRUE(in_link->mine_link.valid());
  // Until the successor is ready, the predecessor's home counts.
  EXPECT_EQ(lead.word(link->index),
            (shm::AgentWord{link->incarnation, shm::AgentState::kStarting}));
  ASSERT_TRUE(is_ok(successor.provide(false)));
  ASSERT_TRUE(is_ok(successor.open(lead.pid())));
  EXPECT_EQ(lead.word(link->index).incarnation, link->incarnation);
  const auto fresh = lead.next<AnnouncedLink>();
  ASSERT_TRUE(fresh.has_value());
  EXPECT_EQ(fresh->incarnation, successor.attached.incarnation);
  EXPECT_TRUE(fresh->process);
  ASSERT_TRUE(is_ok(successor.client.ready()));
  EXPECT_EQ(lead.word(link->index),
            (shm::AgentWord{successor.attached.incarnation, shm::AgentState::kRunning}));
  EXPECT_TRUE(os::drain_event(lead.event.get()));
}

TEST_F(CoordinatorTest, ASuccessorThatDiesBeforeItIsReadyChangesNothing) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t first = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true);
  });
  kill_child(first);
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  ASSERT_TRUE(is_ok(lead.open(died->pid)));
  const pid_t second = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker")) && worker.provide(false) &&
           worker.open(lead.pid()).has_value();
  });
  kill_child(second);
  TestAgent third;
  ASSERT_TRUE(is_ok(third.attach(named("worker"))));
  EXPECT_EQ(third.attached.predecessor, died->incarnation);
  EXPECT_TRUE(third.attached.home.valid());
  EXPECT_EQ(third.attached.in_links, 1U);
  const auto in_link = third.next<AnnouncedLink>();
  ASSERT_TRUE(in_link.has_value());
  EXPECT_FALSE(in_link->mine.has_value());
}

TEST_F(CoordinatorTest, ATemporaryAgentIsFinallyDeadAndItsMailBecomesDeadLetters) {
  start();
  TestAgent lead = agent(named("lead"));
  AttachRequest request = named("once", "lead");
  request.temporary = true;
  const pid_t child =
      spawn([&](TestAgent& worker) { return worker.attach(request) && worker.provide(true); });
  const auto route = lead.client.route("lead", "once");
  ASSERT_TRUE(is_ok(route));
  ASSERT_TRUE(is_ok(lead.open(route->to)));
  for (std::uint64_t i = 0; i < 3; ++i) lead.publish(1, i);
  kill_child(child);
  const auto died = lead.next<DiedAnnouncement>();
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->state, shm::AgentState::kDead);
  EXPECT_TRUE(eventually([&] { return lead.client.status()->dead_letters == 3; }));
  EXPECT_TRUE(eventually([&] { return lead.client.status()->links == 0; }));
  EXPECT_TRUE(has_error(lead.open(died->pid), ErrorCode::kPeerDead, "is dead"));
  // The name is free again, for another agent.
  TestAgent next = agent(named("once"));
  EXPECT_NE(next.pid(), died->pid);
  EXPECT_EQ(next.attached.predecessor, shm::kNoIncarnation);
}

TEST_F(CoordinatorTest, DetachingLeavesTheNameAwayOrDead) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker", "lead"));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  EXPECT_EQ(lead.word(worker.attached.index).state, shm::AgentState::kAway);
  EXPECT_TRUE(has_error(worker.client.ready(), ErrorCode::kInvalid));
  AttachRequest request = named("once");
  request.temporary = true;
  TestAgent once = agent(request);
  ASSERT_TRUE(is_ok(once.client.detach({})));
  EXPECT_EQ(lead.word(once.attached.index).state, shm::AgentState::kDead);
}

TEST_F(CoordinatorTest, FadedLinksAreForgottenAndSaidSo) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker"));
  ASSERT_TRUE(is_ok(worker.open(lead.pid())));
  const shm::Incarnation old = worker.attached.incarnation;
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  Client client = connect();
  EXPECT_EQ(client.links_to(lead.pid()).value(), (std::vector<shm::LinkKey>{{old, 1}}));
  EXPECT_TRUE(client.links_to(worker.pid()).value().empty());
  ASSERT_TRUE(is_ok(lead.client.fade(old, 1)));
  const auto faded = lead.next<FadedAnnouncement>();
  ASSERT_TRUE(faded.has_value());
  EXPECT_EQ(faded->incarnation, old);
  ASSERT_TRUE(is_ok(lead.client.fade(old, 1, true)));
  // The link stays only for the receipts of a takeover, and goes after it.
  EXPECT_EQ(lead.client.status()->links, 1U);
  EXPECT_TRUE(client.links_to(lead.pid()).value().empty());
  TestAgent successor = agent(named("worker"));
  EXPECT_EQ(lead.client.status()->links, 0U);
  ASSERT_TRUE(is_ok(lead.client.fade(old, 1)));
  EXPECT_TRUE(lead.next<FadedAnnouncement>().has_value());
}

TEST_F(CoordinatorTest, MessagesThatAnAgentSentBeforeItsDeathCount) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker"));
  ASSERT_TRUE(is_ok(worker.client.detach({})));
  for (int i = 0; i < 20; ++i) {
    // Its detach and its death reach the coordinator in the same turn, in any order.
    const pid_t child = ::fork();
    if (child == 0) {
      TestAgent once;
      AttachRequest request = named("once-" + std::to_string(i), "lead");
      const bool good = once.attach(request) && once.provide(true) && once.open(lead.pid());
      const std::string last = build(Request(DetachRequest{{1}}), 99);
      (void)!::send(once.client.fd(), last.data(), last.size(), 0);
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(lead.next<DiedAnnouncement>().has_value());
    // The detach said that the link is empty, so a successor of its reader is not told of it.
  }
  lead.client.close();
  const auto resumed = lead.resume();
  ASSERT_TRUE(is_ok(resumed));
  EXPECT_EQ(resumed->in_links, 0U);
}

TEST_F(CoordinatorTest, AnAgentThatLosesItsConnectionMayResumeAndIsFencedOtherwise) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent worker = agent(named("worker", "lead"));
  ASSERT_TRUE(is_ok(lead.open(worker.pid())));
  worker.client.close();
  const auto resumed = worker.resume();
  ASSERT_TRUE(is_ok(resumed));
  EXPECT_EQ(resumed->index, worker.attached.index);
  EXPECT_EQ(resumed->in_links, 1U);
  EXPECT_TRUE(worker.next<AnnouncedLink>().has_value());

  worker.client.close();
  const auto died = lead.next<DiedAnnouncement>();  // after 5 s
  ASSERT_TRUE(died.has_value());
  EXPECT_EQ(died->state, shm::AgentState::kAway);
  EXPECT_TRUE(has_error(worker.resume(), ErrorCode::kPeerDead, "was ended"));
}

TEST_F(CoordinatorTest, TheInboxOfAFencedTemporaryAgentIsTakenOverThoughNobodyAsksForAnything) {
  start();
  TestAgent lead = agent(named("lead"));
  AttachRequest request = named("once");
  request.temporary = true;
  TestAgent once = agent(request);
  ASSERT_TRUE(is_ok(lead.open(once.pid())));
  lead.publish(1, 0);
  once.client.close();
  EXPECT_TRUE(eventually([&] { return log().find("event=taken_over") != std::string::npos; }));
}

TEST_F(CoordinatorTest, NobodyResumesTheLifeOfAnotherProcess) {
  start();
  TestAgent lead = agent(named("lead"));
  const pid_t thief = spawn([&](TestAgent&) {
    return has_error(lead.resume(), ErrorCode::kDenied, "belongs to process");
  });
  kill_child(thief);
  EXPECT_EQ(lead.own_word().state, shm::AgentState::kRunning);
}

// The coordinator lives in a pid namespace in which our process has no number.
TEST_F(CoordinatorTest, AnAgentOfAnotherPidNamespaceMayResumeWhereTheKernelNumbersProcesses) {
  const auto self = os::open_pidfd(::getpid());
  ASSERT_TRUE(is_ok(self));
  const bool numbered = os::process_number(self->get()).has_value();
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t first = ::fork();
    if (first == 0) {
      const std::string log = root_ + "/beelined.log";
      ::execl(program().c_str(), "beelined", "--foreground", "--log", log.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  ClientOptions quiet;
  quiet.start = false;
  ASSERT_TRUE(eventually([&] {
    return ::waitpid(outside, nullptr, WNOHANG) != 0 || Client::connect(quiet).has_value();
  }));
  if (!Client::connect(quiet)) GTEST_SKIP() << "no right to make a pid namespace";
  TestAgent lead;
  const auto attached = lead.attach(named("lead"));
  if (numbered) {
    ASSERT_TRUE(is_ok(attached));
    ASSERT_TRUE(is_ok(lead.provide(true)));
    lead.client.close();
    EXPECT_TRUE(is_ok(lead.resume()));
    const pid_t thief =
        spawn([&](TestAgent&) { return has_error(lead.resume(), ErrorCode::kDenied, "process"); });
    kill_child(thief);
  } else {
    EXPECT_TRUE(has_error(attached, ErrorCode::kDenied, "pid namespace"));
  }
  EXPECT_TRUE(is_ok(connect().down()));
  ::waitpid(outside, nullptr, 0);
}

TEST_F(CoordinatorTest, IdentityIsProvenByTheSentPidfdWhereTheKernelCannotTell) {
  start({"--peer-pidfd", "off"});
  TestAgent lead = agent(named("lead"));
  EXPECT_EQ(lead.own_word().state, shm::AgentState::kRunning);
  AttachRequest request = named("liar");
  Client client = connect();
  EXPECT_TRUE(has_error(client.request(request), ErrorCode::kDenied, "pidfd"));
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;) ::pause();
  }
  auto pidfd = os::open_pidfd(other);
  ASSERT_TRUE(is_ok(pidfd));
  request.pidfd = true;
  const int fd = pidfd->get();
  EXPECT_TRUE(has_error(client.request(request, {&fd, 1}), ErrorCode::kDenied));
  kill_child(other);
  const pid_t child = spawn([&](TestAgent& worker) {
    return worker.attach(named("worker", "lead")) && worker.provide(true);
  });
  kill_child(child);
  EXPECT_TRUE(lead.next<DiedAnnouncement>().has_value());
}

}  // namespace
}  // namespace beeline::control
