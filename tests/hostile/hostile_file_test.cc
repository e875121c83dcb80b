// A peer that hands the coordinator wrong files. Each is refused with a description of the file,
// named in the log, and changes nothing; the coordinator goes on serving.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>

#include "src/os/event_fd.h"
#include "tests/hostile/stage.h"

namespace beeline::test {
namespace {

struct Found {
  const char* name;
  os::UniqueFd fd;
  const char* reason = "";  // part of the coordinator's error
};

os::UniqueFd memfd(std::uint64_t bytes, unsigned seals, unsigned flags = MFD_ALLOW_SEALING) {
  os::UniqueFd fd(::memfd_create("foreign", MFD_CLOEXEC | flags));
  EXPECT_TRUE(fd.valid());
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  const auto allocated = static_cast<off_t>(std::min(bytes, 64 * shm::kPage));
  EXPECT_TRUE(bytes == 0 || ::posix_fallocate(fd.get(), 0, allocated) == 0);
  if (seals != 0) {
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  }
  return fd;
}

constexpr unsigned kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// A sound segment, but the holder of this descriptor cannot read it.
Found open_for_writing_alone(int segment) {
  const std::string path = "/proc/self/fd/" + std::to_string(segment);
  return {"memfd open for writing alone", os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)),
          "cannot be read"};
}

// Files that are no segment of `bytes` bytes.
std::vector<Found> foreign_files(std::uint64_t bytes) {
  std::vector<Found> files;
  const auto add = [&](const char* name, int fd) { files.push_back({name, os::UniqueFd(fd)}); };
  files.push_back({"memfd without seals", memfd(bytes, 0)});
  for (const unsigned seal : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL}) {
    files.push_back({"memfd that lacks a seal", memfd(bytes, kAllSeals & ~seal)});
  }
  files.push_back({"memfd that cannot be sealed", memfd(bytes, 0, 0)});
  files.push_back({"memfd that is too small", memfd(bytes - shm::kPage, kAllSeals)});
  files.push_back({"memfd that is too large", memfd(bytes + shm::kPage, kAllSeals)});
  files.push_back({"memfd of zeros", memfd(bytes, kAllSeals)});
  os::UniqueFd hole(::memfd_create("hole", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(hole.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(hole.get(), F_ADD_SEALS, kAllSeals), 0);
  files.push_back({"memfd without memory", std::move(hole)});
  std::FILE* file = std::tmpfile();
  add("regular file", ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0));
  EXPECT_EQ(::ftruncate(::fileno(file), static_cast<off_t>(bytes)), 0);
  std::fclose(file);
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  add("pipe to read", ends[0]);
  add("pipe to write", ends[1]);
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  add("socket", ends[0]);
  add("its other end", ends[1]);
  add("device", ::open("/dev/zero", O_RDWR | O_CLOEXEC));
  add("directory", ::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  add("path alone", ::open("/dev/zero", O_PATH | O_CLOEXEC));
  add("file of the kernel", ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  return files;
}

// An agent that has attached and provided nothing.
struct Newcomer {
  control::Client client;
  control::Attached attached;

  explicit Newcomer(control::Client made, const std::string& name,
                    Villain::Stay stay = Villain::Stay::kTemporary)
      : client(std::move(made)) {
    control::AttachRequest request;
    request.name = name;
    request.temporary = stay == Villain::Stay::kTemporary;
    auto answer = client.attach(request);
    EXPECT_TRUE(answer);
    if (answer) attached = std::move(*answer);
  }
  [[nodiscard]] segment::Owned home() const {
    auto made = *segment::Owned::create("home", shm::HomeLayout(16).bytes, shm::kPage * 64);
    shm::HomeOptions options;
    options.capacity = 16;
    shm::init_home(shm::Home(made.data(), 16), options, attached.pid, attached.incarnation);
    shm::Home(made.data(), 16).header().ready.publish(1);
    return made;
  }
  [[nodiscard]] segment::Owned status() const {
    auto made = *segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes);
    shm::init_status(*reinterpret_cast<shm::StatusPage*>(made.data()), attached.pid,
                     attached.incarnation);
    return made;
  }
};

class HostileFile : public HostileTest {
 protected:
  // Each is refused with this code, and the reason describes the file.
  void expect_refused(std::vector<Found> files, ErrorCode code,
                      const std::function<Result<void>(int fd)>& hand_in) {
    for (const Found& each : files) {
      SCOPED_TRACE(each.name);
      ASSERT_TRUE(each.fd.valid());
      const auto done = hand_in(each.fd.get());
      ASSERT_FALSE(done) << "it was accepted";
      EXPECT_EQ(to_string(done.error().code), to_string(code)) << done.error().text;
      EXPECT_FALSE(done.error().text.empty());
      EXPECT_NE(done.error().text.find(each.reason), std::string::npos) << done.error().text;
      ++refused_;
    }
  }
  // Every refusal names process and agent in the log.
  void expect_all_named(const Newcomer& villain) {
    const std::string who = "event=request_refused agent=" + std::to_string(villain.attached.pid) +
                            " process=" + std::to_string(::getpid()) + " ";
    std::size_t named = 0;
    const std::string log = hive().log();
    for (std::size_t at = log.find(who); at != std::string::npos; at = log.find(who, at + 1)) {
      ++named;
    }
    EXPECT_EQ(named, refused_) << log;
    EXPECT_EQ(hive().status().dropped_clients, 0U);
    EXPECT_TRUE(attach("after")) << "the coordinator goes on serving";
  }
  std::size_t refused_ = 0;
};

TEST_F(HostileFile, NoneIsTakenForAHome) {
  Newcomer villain(hive().client(), "villain");
  const segment::Owned status = villain.status();
  const os::UniqueFd event = *os::create_event_fd();
  auto files = foreign_files(shm::HomeLayout(16).bytes);
  files.push_back({"a status page", *os::duplicate(status.fd())});
  expect_refused(std::move(files), ErrorCode::kBadSegment, [&](int fd) {
    return villain.client.provide(fd, status.fd(), event.get(), true);
  });
  EXPECT_TRUE(villain.client.provide(villain.home().fd(), status.fd(), event.get(), true))
      << "a sound one is taken afterwards";
  expect_all_named(villain);
}

TEST_F(HostileFile, NoneIsTakenForAStatusPage) {
  Newcomer villain(hive().client(), "villain");
  const segment::Owned home = villain.home();
  const segment::Owned status = villain.status();
  const os::UniqueFd event = *os::create_event_fd();
  auto files = foreign_files(shm::kStatusBytes);
  files.push_back(open_for_writing_alone(status.fd()));
  files.push_back({"a home", *os::duplicate(home.fd())});
  expect_refused(std::move(files), ErrorCode::kBadSegment,
                 [&](int fd) { return villain.client.provide(home.fd(), fd, event.get(), true); });
  expect_all_named(villain);
}

// A ring must not block, cause a SIGPIPE, or write into a file.
TEST_F(HostileFile, NoneIsTakenForABell) {
  Newcomer villain(hive().client(), "villain");
  const segment::Owned home = villain.home();
  const segment::Owned status = villain.status();
  auto files = foreign_files(2 * shm::kPage);
  files.push_back({"an eventfd that blocks", os::UniqueFd(::eventfd(0, EFD_CLOEXEC))});
  // No segment, so its layout is not wrong: the sender breaks the rules of the protocol.
  expect_refused(std::move(files), ErrorCode::kProtocol,
                 [&](int fd) { return villain.client.provide(home.fd(), status.fd(), fd, true); });
  expect_all_named(villain);
}

TEST_F(HostileFile, NoneIsTakenForALink) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  Newcomer villain(hive().client(), "villain");
  const segment::Owned home = villain.home();
  const segment::Owned status = villain.status();
  const os::UniqueFd event = *os::create_event_fd();
  ASSERT_TRUE(villain.client.provide(home.fd(), status.fd(), event.get(), true));
  control::OpenRequest request;
  request.to = victim->pid();
  request.serial = 1;
  const shm::LinkLayout layout(request.contract);
  auto files = foreign_files(layout.first_extent);
  files.push_back({"a home", *os::duplicate(home.fd())});
  // Sound, but another agent's: the header names another owner, reader, life or serial.
  const shm::LinkKey key{villain.attached.incarnation, 1};
  const Pid pid = villain.attached.pid;
  for (const auto& identity :
       {shm::link_identity(request.contract, pid + 1, victim->pid(), key),
        shm::link_identity(request.contract, pid, pid, key),
        shm::link_identity(request.contract, pid, victim->pid(),
                           {shm::Incarnation(key.incarnation.value() - 1), 1}),
        shm::link_identity(request.contract, pid, victim->pid(), {key.incarnation, 2})}) {
    auto made = *segment::Owned::create_link("link", layout);
    shm::init_link(shm::Link(made.data(), request.contract), identity);
    files.push_back({"another's link", *os::duplicate(made.fd())});
  }
  auto sound = *segment::Owned::create_link("link", layout);
  shm::init_link(shm::Link(sound.data(), request.contract),
                 shm::link_identity(request.contract, pid, victim->pid(), key));
  files.push_back(open_for_writing_alone(sound.fd()));
  expect_refused(std::move(files), ErrorCode::kBadSegment, [&](int fd) -> Result<void> {
    auto opened = villain.client.open(request, fd);
    if (!opened) return tl::unexpected(opened.error());
    return {};
  });
  expect_all_named(villain);
  EXPECT_EQ(hive().status().links, 0U) << "the victim was told of none";
}

// ---- Links that go bad after the coordinator has checked them -----------------------------------

// Sound except for the ready word: its owner may set that at any time, so only the reader checks
// it.
class HostileNewcomer : public HostileFile {
 protected:
  struct Liar {
    Newcomer villain;
    segment::Owned home, status, link;
    os::UniqueFd event;
  };

  [[nodiscard]] Liar show_unready_link(const std::string& name, Pid to, Villain::Stay stay) {
    Liar liar{Newcomer(hive().client(), name, stay), {}, {}, {}, *os::create_event_fd()};
    liar.home = liar.villain.home();
    liar.status = liar.villain.status();
    EXPECT_TRUE(
        liar.villain.client.provide(liar.home.fd(), liar.status.fd(), liar.event.get(), true));
    control::OpenRequest request;
    request.to = to;
    request.serial = 1;
    const shm::LinkLayout layout(request.contract);
    liar.link = *segment::Owned::create_link("link", layout);
    const shm::Link link(liar.link.data(), request.contract);
    shm::init_link(link, shm::link_identity(request.contract, liar.villain.attached.pid, to,
                                            {liar.villain.attached.incarnation, 1}));
    link.header().ready.publish(0);
    EXPECT_TRUE(liar.villain.client.open(request, liar.link.fd()));
    return liar;
  }
  [[nodiscard]] std::uint64_t links() { return hive().status().links; }
  [[nodiscard]] std::uint64_t named_links() { return hive().status().quarantined_links; }
};

TEST_F(HostileNewcomer, ALinkThatItsReaderRefusesGoesWithItsOwner) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    Liar liar = show_unready_link("villain", victim->pid(), Villain::Stay::kTemporary);
    drain_until(*victim, [&] { return named_links() == round; });
    ASSERT_TRUE(liar.villain.client.detach({}));
    drain_until(*victim, [&] { return links() == 0; });
  }
  await_log({"event=link_ended", "name=\"villain\"", "not ready"});
}

TEST_F(HostileNewcomer, ALinkThatItsReaderRefusesLeavesNoOpenDescriptors) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  std::size_t after_first = 0;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    {
      Liar liar = show_unready_link("villain", victim->pid(), Villain::Stay::kTemporary);
      drain_until(*victim, [&] { return named_links() == round; });
      ASSERT_TRUE(liar.villain.client.detach({}));
      drain_until(*victim, [&] { return links() == 0; });
    }
    if (round == 1) after_first = count_open_fds();
  }
  EXPECT_EQ(count_open_fds(), after_first) << "status pages and eventfds of those who lied";
}

TEST_F(HostileNewcomer, ALinkThatItsReaderRefusesAfterTheEndOfItsOwnerGoesAtOnce) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  Liar liar = show_unready_link("villain", victim->pid(), Villain::Stay::kTemporary);
  ASSERT_TRUE(liar.villain.client.detach({}));
  EXPECT_EQ(links(), 1U) << "its reader has not looked yet";
  drain_until(*victim, [&] { return links() == 0; });
  EXPECT_EQ(named_links(), 1U);
}

// The reader has been told of the link twice: by the old coordinator, with a socket that is broken
// by then, and by the new one.
TEST_F(HostileNewcomer, ALinkThatItsReaderRefusesAfterARestartOfTheCoordinatorIsReportedOnce) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  Liar liar = show_unready_link("villain", victim->pid(), Villain::Stay::kTemporary);
  ASSERT_TRUE(liar.villain.client.detach({}));
  const pid_t old = hive().coordinator();
  ASSERT_EQ(::kill(old, SIGKILL), 0);
  const Deadline deadline = patience();
  for (pid_t now = old; now == old || now == 0; now = hive().coordinator()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ::sched_yield();
  }
  drain_until(*victim, [&] { return links() == 0; });
  (void)victim->siblings();  // the coordinator has read all earlier packets
  EXPECT_EQ(named_links(), 1U);
  EXPECT_EQ(hive().log().find("event=report_refused"), std::string::npos)
      << "the victim is named as one that blames others";
}

TEST_F(HostileNewcomer, ALinkThatItsReaderRefusesGoesWithTheNextLifeOfItsOwner) {
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    Liar liar = show_unready_link("villain", victim->pid(), Villain::Stay::kForGood);
    drain_until(*victim, [&] { return named_links() == round; });
    EXPECT_EQ(links(), 1U) << "its receipts are for the next life, which has come by now";
    ASSERT_TRUE(liar.villain.client.detach({}));
  }
}

// The liar refuses an honest link, which holds the receipts for its successor.
TEST_F(HostileNewcomer, ALinkThatALiarRefusedServesTheSuccessorOfTheLiar) {
  constexpr int kMessages = 400;  // more than a lane holds
  auto honest = attach("honest");
  ASSERT_TRUE(honest);
  {
    Newcomer liar(hive().client(), "reader", Villain::Stay::kForGood);
    const segment::Owned home = liar.home();
    const segment::Owned status = liar.status();
    const os::UniqueFd event = *os::create_event_fd();
    ASSERT_TRUE(liar.client.provide(home.fd(), status.fd(), event.get(), true));
    (void)peer_of(*honest, "reader");
    const auto answered = liar.client.status();  // behind the announcement
    ASSERT_TRUE(answered) << answered.error().text;
    const auto announced = liar.client.try_next();
    ASSERT_TRUE(announced);
    const auto* link = std::get_if<control::AnnouncedLink>(&*announced);
    ASSERT_NE(link, nullptr);
    ASSERT_TRUE(liar.client.report(
        {"not ready", link->pid, link->incarnation, link->serial, /*unread=*/true}));
    drain_until(*honest, [&] { return named_links() == 1; });
    ASSERT_TRUE(liar.client.detach({}));
  }
  auto heir = attach("reader");
  ASSERT_TRUE(heir);
  const Peer to = peer_of(*heir, "honest");
  int arrived = 0;
  const Deadline deadline = patience();
  for (int sent = 0; arrived < kMessages;) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << arrived << " of " << sent;
    if (sent < kMessages && heir->send(to, "hello")) ++sent;
    (void)heir->receive({.timeout = 1ms, .filter = kNobody});
    while (auto message = honest->try_receive()) {
      message->done();
      ++arrived;
    }
  }
  EXPECT_EQ(heir->counters().quarantined_links, 0U);
}

TEST_F(HostileNewcomer, ASuccessorNamesWhatItCannotInherit) {
  Pid pid = 0;
  {
    auto victim = attach("victim");
    ASSERT_TRUE(victim);
    pid = victim->pid();
  }
  {
    Liar liar = show_unready_link("villain", pid, Villain::Stay::kTemporary);
    ASSERT_TRUE(liar.villain.client.detach({}));
  }
  auto victim = attach("victim");
  ASSERT_TRUE(victim);
  drain_until(*victim, [&] { return links() == 0; });
  EXPECT_EQ(named_links(), 1U);
  await_log({"event=link_ended", "name=\"villain\"", "not ready"});
}

}  // namespace
}  // namespace beeline::test
