// The limits of the coordinator and its keeper: too few descriptors, too many agents, a client that
// never stops, a log that grows.

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "coordinator_fixture.h"
#include "src/control/log.h"

namespace beeline::control {
namespace {

class LimitsTest : public CoordinatorTest {
 protected:
  static AttachRequest temporary(std::string name, std::string parent = "") {
    AttachRequest request = named(std::move(name), std::move(parent));
    request.temporary = true;
    return request;
  }
};

// ---- Descriptors --------------------------------------------------------------------------------

void limit_descriptors(pid_t process, rlim_t count) {
  rlimit limit{};
  ASSERT_EQ(::prlimit(process, RLIMIT_NOFILE, nullptr, &limit), 0);
  limit.rlim_cur = std::min(count, limit.rlim_max);
  ASSERT_EQ(::prlimit(process, RLIMIT_NOFILE, &limit, nullptr), 0);
}

// Whether another process has a descriptor of the same file as `fd`.
bool holds(pid_t process, int fd) {
  struct stat wanted {};
  EXPECT_EQ(::fstat(fd, &wanted), 0);
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", error)) {
    struct stat found {};
    const bool is_there = ::stat(entry.path().c_str(), &found) == 0;
    if (is_there && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return true;
  }
  return false;
}
// All of its descriptors come in one packet.
bool has_got(pid_t keeper, const TestAgent& life) {
  return holds(keeper, life.home.fd()) && holds(keeper, life.status.fd());
}

TEST_F(LimitsTest, TheKeeperTriesAgainWhenItCannotStartACoordinator) {
  start();
  const auto status = connect().status();
  ASSERT_TRUE(is_ok(status));
  TestAgent lead = agent(named("lead"));
  // With the lower limit the keeper would lose the packets that it has not read yet.
  ASSERT_TRUE(eventually([&] { return has_got(status->keeper_pid, lead); }));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, 4));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return log().find("restart_failed") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, RLIM_INFINITY));
  EXPECT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  EXPECT_EQ(lead.client.status()->keeper_pid, status->keeper_pid);
}

TEST_F(LimitsTest, ATermSignalEndsAKeeperThatCannotStartACoordinator) {
  start();
  const auto status = connect().status();
  ASSERT_TRUE(is_ok(status));
  auto keeper = os::open_pidfd(status->keeper_pid);
  ASSERT_TRUE(is_ok(keeper));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, 4));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
  ASSERT_EQ(::kill(status->keeper_pid, SIGTERM), 0);
  EXPECT_TRUE(os::wait_readable(keeper->get(), kLong));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/hive"));
}

// The packets with its segments are lost, and the packet that it has left arrives.
TEST_F(LimitsTest, ALifeThatTheKeeperHasNotGotWholeIsNobodysPredecessor) {
  start();
  TestAgent half;
  ASSERT_TRUE(is_ok(half.attach(named("half"))));
  const auto status = half.client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_EQ(::kill(status->keeper_pid, SIGSTOP), 0);
  ASSERT_TRUE(is_ok(half.provide(true)));
  ASSERT_TRUE(is_ok(half.client.detach({})));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, 4));  // as many as it polls
  ASSERT_EQ(::kill(status->keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return log().find("event=restart_failed") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, RLIM_INFINITY));
  TestAgent next;
  ASSERT_TRUE(eventually([&] { return next.attach(named("half")).has_value(); }));
  EXPECT_EQ(next.attached.pid, half.attached.pid);
  EXPECT_EQ(next.client.status()->restarts, 1U) << "nobody shows what is not there";
  EXPECT_TRUE(is_ok(next.provide(true)));
}

// Its segments arrived while there was room. Its predecessor is forgotten, so this life must count.
TEST_F(LimitsTest, ALifeIsReadyThoughTheKeeperHasNoDescriptorFree) {
  start();
  TestAgent first = agent(named("heir"));
  const auto status = first.client.status();
  ASSERT_TRUE(is_ok(status));
  ASSERT_TRUE(is_ok(first.client.detach({})));
  TestAgent heir;
  ASSERT_TRUE(is_ok(heir.attach(named("heir"))));
  ASSERT_TRUE(is_ok(heir.provide(false)));
  ASSERT_TRUE(eventually([&] { return has_got(status->keeper_pid, heir); }));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, 3));  // as many as it polls
  ASSERT_TRUE(is_ok(heir.client.ready()));
  ASSERT_EQ(::kill(status->coordinator_pid, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return log().find("event=restart_failed") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(status->keeper_pid, RLIM_INFINITY));
  TestAgent next;
  ASSERT_TRUE(eventually([&] { return next.attach(named("heir")).has_value(); }));
  EXPECT_EQ(next.attached.predecessor, heir.attached.incarnation);
}

TEST_F(LimitsTest, DescriptorsThatTheKeeperCouldNotHoldAreRefused) {
  start();
  TestAgent lead = agent(named("lead"));
  ASSERT_NO_FATAL_FAILURE(limit_descriptors(lead.client.status()->coordinator_pid, 192));
  // Half of the descriptors are for links, so that the readers of these links can still attach.
  Result<Opened> opened = lead.open(lead.pid());
  std::vector<TestAgent> senders;  // an agent that ends would free its descriptors
  for (int i = 0; i < 40 && opened; ++i) {
    opened = senders.emplace_back(agent(temporary("sender-" + std::to_string(i)))).open(lead.pid());
  }
  EXPECT_TRUE(has_error(opened, ErrorCode::kFull, "the limit for new ones is 96"));
  std::vector<TestAgent> others;
  Result<void> attached;
  for (int i = 0; i < 20 && attached; ++i) {
    attached = others.emplace_back().attach(named("other-" + std::to_string(i)));
    if (attached) attached = others.back().provide(true);
  }
  EXPECT_TRUE(has_error(attached, ErrorCode::kFull, "the limit for new ones is 112"));
  EXPECT_TRUE(is_ok(lead.client.status()));
  ASSERT_TRUE(is_ok(others.front().client.detach({})));
}

// A service manager may start it with these closed.
TEST_F(LimitsTest, AHiveInTheForegroundHasStandardStreamsAlthoughItWasStartedWithoutAny) {
  const std::string command = "'" + program() + "' --foreground <&- >&- 2>&- &";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_TRUE(
      eventually([&] { return os::PacketSocket::connect(root_ + "/hive/socket").has_value(); }));
  const auto status = connect().status();
  ASSERT_TRUE(is_ok(status));
  for (const pid_t process : {status->keeper_pid, status->coordinator_pid}) {
    for (const char* stream : {"0", "1", "2"}) {
      const std::filesystem::path fd =
          "/proc/" + std::to_string(process) + "/fd/" + std::string(stream);
      EXPECT_EQ(std::filesystem::read_symlink(fd), "/dev/null") << fd;
    }
  }
}

// ---- Links and places ---------------------------------------------------------------------------

// Attaches, opens a link to `to`, leaves a message in it and ends for good.
Result<void> send_once(const AttachRequest& request, Pid to) {
  TestAgent once;
  if (auto attached = once.attach(request); !attached) return attached;
  if (auto provided = once.provide(true); !provided) return provided;
  const auto opened = once.open(to);
  if (opened) once.publish(1, 0);
  if (auto detached = once.client.detach({}); !detached) return detached;
  return opened ? Result<void>() : tl::unexpected(opened.error());
}

TEST_F(LimitsTest, UnreadLinksOfTheDeadCostNoPlaceAndHaveALimitOfTheirOwn) {
  start();
  TestAgent lead = agent(named("lead"));
  TestAgent watcher = agent(named("watcher"));
  ASSERT_TRUE(is_ok(lead.client.detach({})));
  std::size_t sent = 0;
  Result<void> last;
  while (last && sent < 10'000) {
    last = send_once(temporary(""), lead.pid());
    if (last) ++sent;
  }
  EXPECT_EQ(sent, shm::kMaxAgents + shm::kMaxAgents / 2);
  EXPECT_TRUE(has_error(last, ErrorCode::kFull, "links to \"lead\" (PID 2) that wait to be read"));
  const auto listed = watcher.client.links_to(lead.pid());
  ASSERT_TRUE(is_ok(listed));
  EXPECT_EQ(listed->size(), sent) << "of many pages";
  // Other agents are served as before, and the reader is told of every link.
  EXPECT_TRUE(is_ok(send_once(temporary(""), watcher.pid())));
  TestAgent successor;
  ASSERT_TRUE(is_ok(successor.attach(named("lead"))));
  EXPECT_EQ(successor.attached.in_links, sent);
  std::size_t told = 0;
  std::optional<AnnouncedLink> link;
  for (; told < sent && (link = successor.next<AnnouncedLink>()); ++told) {
    const shm::AgentWord word = successor.word(link->index);
    EXPECT_TRUE(word.incarnation > link->incarnation ||
                (word.incarnation == link->incarnation && word.state != shm::AgentState::kRunning));
    // The socket may be full: then the reader asks again, as an agent does at its next look.
    ASSERT_TRUE(eventually(
        [&] { return successor.client.fade(link->incarnation, link->serial, true).has_value(); }));
  }
  EXPECT_EQ(told, sent);
  EXPECT_TRUE(eventually([&] { return watcher.client.status()->links == 1; }));
  EXPECT_TRUE(is_ok(send_once(temporary(""), lead.pid())));
}

// ---- Time and disk ------------------------------------------------------------------------------

[[noreturn]] void speak_for_ever(int socket) {
  ReportRequest lie;
  lie.what = "nothing";
  const std::string text = build(Request(lie), 7);
  while (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) > 0 || errno == EAGAIN) {
  }
  ::_exit(0);
}

TEST_F(LimitsTest, AChildThatSpeaksForItsDeadParentHoldsNobodyUp) {
  start();
  TestAgent lead = agent(named("lead"));
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t worker = ::fork();
  if (worker == 0) {
    TestAgent self;
    const bool good = self.attach(named("worker", "lead")) && self.provide(true);
    const pid_t heir = ::fork();
    if (heir == 0) speak_for_ever(self.client.fd());
    // Once all of its requests were read, the coordinator sees our end late.
    int unread = 0;
    while (good && unread < 100'000) ::ioctl(self.client.fd(), SIOCOUTQ, &unread);
    (void)!::write(ends[1], &heir, good ? sizeof(heir) : 1);
    ::_exit(0);
  }
  pid_t heir = 0;
  ASSERT_EQ(::read(ends[0], &heir, sizeof(heir)), static_cast<ssize_t>(sizeof(heir)));
  for (const int end : ends) ::close(end);
  ::waitpid(worker, nullptr, 0);
  EXPECT_TRUE(lead.next<DiedAnnouncement>().has_value());
  EXPECT_TRUE(is_ok(lead.client.status()));
  ::kill(heir, SIGKILL);
}

TEST_F(LimitsTest, ALogThatHasGrownIsBegunAnewForAllItsWriters) {
  const std::string path = root_ + "/log";
  const auto open = [&] {
    return os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  };
  const os::UniqueFd first_fd = open();
  const os::UniqueFd second_fd = open();
  Log first(first_fd.get(), path);
  Log second(second_fd.get(), path);
  const auto size = [](const std::string& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? status.st_size : 0;
  };
  const std::string text(2000, 'x');
  std::int64_t written = 0;
  for (; size(Log::old_path(path)) == 0 && written < 2 * kMaxLogBytes; written += 2000) {
    first.info("test", "text={}", text);
  }
  EXPECT_GE(size(Log::old_path(path)), kMaxLogBytes);
  EXPECT_LT(size(Log::old_path(path)), kMaxLogBytes + 4096);
  EXPECT_EQ(size(path), 0);
  second.info("left", "");  // into the file that was renamed
  EXPECT_EQ(size(path), 0);
  second.info("found", "");
  first.info("found", "");
  EXPECT_GT(size(path), 0);
  EXPECT_LT(size(Log::old_path(path)), kMaxLogBytes + 4096);
  EXPECT_EQ(first.dropped() + second.dropped(), 0U);
}

}  // namespace
}  // namespace beeline::control
