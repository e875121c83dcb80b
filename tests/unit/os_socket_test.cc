// The facts about eventfds, pidfds and packet sockets that Beeline relies on, and the wrappers that
// use them.

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "src/os/mapping.h"
#include "src/os/packet_socket.h"
#include "src/os/pid_fd.h"
#include "tests/unit/os_test_support.h"

namespace beeline::os {
namespace {

TEST(EventFdTest, SignalsCollectUntilDrained) {
  auto fd = create_event_fd();
  ASSERT_TRUE(is_ok(fd));
  EXPECT_FALSE(wait_readable(fd->get(), 0ns));
  EXPECT_FALSE(drain_event(fd->get()));
  signal_event(fd->get());
  signal_event(fd->get());
  EXPECT_TRUE(wait_readable(fd->get(), kLong));
  EXPECT_TRUE(drain_event(fd->get()));
  EXPECT_FALSE(drain_event(fd->get()));
  EXPECT_FALSE(wait_readable(fd->get(), 1ms));
}

TEST(EventFdTest, ASaturatedOneThatAPeerMadeBlockingDoesNotBlockUs) {
  auto fd = create_event_fd();
  ASSERT_TRUE(is_ok(fd));
  const int flags = ::fcntl(fd->get(), F_GETFL);
  ASSERT_EQ(::fcntl(fd->get(), F_SETFL, flags & ~O_NONBLOCK), 0);
  EXPECT_FALSE(drain_event(fd->get()));  // nor does an empty one block
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - 1;
  ASSERT_EQ(::write(fd->get(), &most, sizeof most), static_cast<ssize_t>(sizeof most));
  signal_event(fd->get());
  EXPECT_TRUE(wait_readable(fd->get(), 0ns));
  EXPECT_TRUE(drain_event(fd->get()));
}

TEST(EventFdTest, CheckRefusesADescriptorThatCouldBlock) {
  auto fd = create_event_fd();
  ASSERT_TRUE(is_ok(fd));
  EXPECT_TRUE(is_ok(check_event_fd(fd->get())));
  const UniqueFd blocking(::eventfd(0, EFD_CLOEXEC));
  EXPECT_TRUE(has_error(check_event_fd(blocking.get()), ErrorCode::kProtocol));
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  EXPECT_TRUE(has_error(check_event_fd(sockets->first.fd()), ErrorCode::kProtocol));
  EXPECT_TRUE(has_error(check_event_fd(-1), ErrorCode::kSystem));
}

TEST(EventFdTest, PollNamesTheReadableOnes) {
  std::vector<UniqueFd> events;
  std::vector<int> fds;
  for (int i = 0; i < 100; ++i) {
    auto fd = create_event_fd();
    ASSERT_TRUE(is_ok(fd));
    fds.push_back(fd->get());
    events.push_back(std::move(*fd));
  }
  EXPECT_TRUE(poll_readable(fds, 0ns).empty());
  signal_event(fds[3]);
  signal_event(fds[77]);
  EXPECT_EQ(poll_readable(fds, kLong), (std::vector<std::size_t>{3, 77}));
  EXPECT_EQ(poll_readable(std::span(fds).first(10), kLong), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(poll_readable({}, 1ms).empty());
}

TEST(PidFdTest, FiresForAKilledProcessBeforeItIsReaped) {
  Child child;
  ASSERT_GE(child.pidfd(), 0);
  EXPECT_FALSE(has_exited(child.pidfd()));
  EXPECT_EQ(pid_of(child.pidfd()).value(), child.pid());
  ASSERT_TRUE(is_ok(send_signal(child.pidfd(), 0)));
  ASSERT_TRUE(is_ok(send_signal(child.pidfd(), SIGKILL)));
  EXPECT_TRUE(wait_readable(child.pidfd(), kLong));
  EXPECT_TRUE(has_exited(child.pidfd()));
  EXPECT_EQ(::kill(child.pid(), 0), 0) << "kill() calls a zombie alive";
  EXPECT_EQ(pid_of(child.pidfd()).value(), child.pid());

  child.reap();
  EXPECT_TRUE(has_exited(child.pidfd()));
  EXPECT_TRUE(has_error(send_signal(child.pidfd(), 0), ErrorCode::kPeerDead));
  EXPECT_TRUE(has_error(pid_of(child.pidfd()), ErrorCode::kPeerDead));
}

TEST(PidFdTest, ErrorsAreTold) {
  EXPECT_TRUE(has_error(open_pidfd(0), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(open_pidfd(-5), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(open_pidfd(std::numeric_limits<pid_t>::max()), ErrorCode::kPeerDead));
  auto event = create_event_fd();
  ASSERT_TRUE(is_ok(event));
  EXPECT_TRUE(has_error(pid_of(event->get()), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(send_signal(event->get(), 0), ErrorCode::kInvalid));
  EXPECT_FALSE(has_exited(-1)) << "what cannot be polled is no proof of death";
}

TEST(CheckPidfdTest, AcceptsOnlyTheProcessThatTheKernelNamed) {
  Child child;
  Child other;
  EXPECT_TRUE(is_ok(check_pidfd(child.pidfd(), child.pid())));
  EXPECT_TRUE(has_error(check_pidfd(child.pidfd(), other.pid()), ErrorCode::kDenied));
  const auto hidden = check_pidfd(child.pidfd(), 0);
  EXPECT_TRUE(has_error(hidden, ErrorCode::kDenied));
  EXPECT_NE(hidden.error().text.find("namespace"), std::string::npos);

  auto event = create_event_fd();
  ASSERT_TRUE(is_ok(event));
  EXPECT_TRUE(has_error(check_pidfd(event->get(), child.pid()), ErrorCode::kProtocol));
  EXPECT_TRUE(has_error(check_pidfd(-1, child.pid()), ErrorCode::kProtocol));
  const std::string path = "/proc/" + std::to_string(child.pid());
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(has_error(check_pidfd(directory.get(), child.pid()), ErrorCode::kProtocol));

  const pid_t pid = child.pid();
  ASSERT_TRUE(is_ok(send_signal(child.pidfd(), SIGKILL)));
  child.reap();
  EXPECT_TRUE(has_error(check_pidfd(child.pidfd(), pid), ErrorCode::kPeerDead));
}

TEST(PacketSocketTest, PacketsKeepTheirBoundariesAndTheirDescriptors) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  auto segment = make_segment();
  ASSERT_TRUE(is_ok(segment));
  segment->mapping.data()[0] = std::byte{9};
  const int sent[] = {segment->fd.get(), left.fd()};
  ASSERT_TRUE(is_ok(left.send("first", sent)));
  ASSERT_TRUE(is_ok(left.send("second")));

  auto first = right.receive(kMaxPacket, kLong);
  ASSERT_TRUE(is_ok(first));
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->text, "first");
  ASSERT_EQ((*first)->fds.size(), 2U);
  const int received = (*first)->fds[0].get();
  EXPECT_TRUE((::fcntl(received, F_GETFD) & FD_CLOEXEC) != 0);
  ASSERT_TRUE(is_ok(check_foreign(received, kSize, kFirstExtent)));
  auto mapping = Mapping::map_readable(received, kSize);
  ASSERT_TRUE(is_ok(mapping));
  EXPECT_EQ(mapping->data()[0], std::byte{9});

  auto second = right.try_receive(kMaxPacket);
  ASSERT_TRUE(is_ok(second));
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->text, "second");
  EXPECT_TRUE((*second)->fds.empty());
  auto none = right.receive(kMaxPacket, 1ms);
  ASSERT_TRUE(is_ok(none));
  EXPECT_FALSE(none->has_value());
}

TEST(PacketSocketTest, OtherControlDataBesideAPacketIsNoDescriptor) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  const int on = 1;  // the credentials of the sender come with each packet
  ASSERT_EQ(::setsockopt(right.fd(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  const int sent[] = {left.fd()};
  ASSERT_TRUE(is_ok(left.send("one", sent)));
  ASSERT_TRUE(is_ok(left.send("none")));
  for (const std::size_t count : {1U, 0U}) {
    auto packet = right.receive(kMaxPacket, kLong);
    ASSERT_TRUE(is_ok(packet));
    ASSERT_TRUE(packet->has_value());
    EXPECT_EQ((*packet)->fds.size(), count) << (*packet)->text;
  }
}

TEST(PacketSocketTest, DescriptorsArriveAfterTheirSenderWasKilled) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto segment = make_segment();
    if (!segment) ::_exit(1);
    segment->mapping.data()[0] = std::byte{11};
    const int sent[] = {segment->fd.get()};
    (void)sockets->first.send("last words", sent);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  auto packet = sockets->second.receive(kMaxPacket, kLong);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  ASSERT_EQ((*packet)->fds.size(), 1U);
  auto mapping = Mapping::map_readable((*packet)->fds[0].get(), kSize);
  ASSERT_TRUE(is_ok(mapping));
  EXPECT_EQ(mapping->data()[0], std::byte{11});
}

TEST(PacketSocketTest, APacketThatThePeerSentBeforeClosingIsNotLost) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  ASSERT_TRUE(is_ok(right.send("never read by the other side")));
  ASSERT_TRUE(is_ok(left.send("last words")));
  left.close();  // with a packet unread, the kernel says ECONNRESET to us first
  auto packet = right.try_receive(kMaxPacket);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->text, "last words");
  EXPECT_TRUE(has_error(right.try_receive(kMaxPacket), ErrorCode::kClosed));
  EXPECT_TRUE(has_error(right.receive(kMaxPacket, kLong), ErrorCode::kClosed));
  EXPECT_TRUE(has_error(right.send("x"), ErrorCode::kClosed));
  EXPECT_TRUE(has_error(left.send("x"), ErrorCode::kClosed));
  EXPECT_TRUE(has_error(left.try_receive(kMaxPacket), ErrorCode::kClosed));
}

TEST(PacketSocketTest, ASocketThatRefusesMoreStillReturnsArrivedPackets) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  ASSERT_TRUE(is_ok(left.send("in time")));
  right.refuse_more();
  EXPECT_TRUE(has_error(left.send("too late"), ErrorCode::kClosed));
  auto packet = right.try_receive(kMaxPacket);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->text, "in time");
  EXPECT_TRUE(has_error(right.try_receive(kMaxPacket), ErrorCode::kClosed));
}

TEST(PacketSocketTest, APacketThatIsTooLargeClosesItsDescriptors) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  const int before = count_open_fds();
  const int sent[] = {left.fd()};
  ASSERT_TRUE(is_ok(left.send(std::string(1001, 'x'), sent)));
  EXPECT_TRUE(has_error(right.try_receive(1000), ErrorCode::kProtocol));
  EXPECT_EQ(count_open_fds(), before);
  ASSERT_TRUE(is_ok(left.send(std::string(1000, 'x'))));
  auto packet = right.try_receive(1000);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->text.size(), 1000U);
}

// Sends without our limits, as a hostile peer would.
void send_raw(int socket, std::string_view text, std::size_t fd_count) {
  const std::vector<int> fds(fd_count, socket);
  iovec piece{const_cast<char*>(text.data()), text.size()};
  std::vector<char> control(CMSG_SPACE(fd_count * sizeof(int)));
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
  std::memcpy(CMSG_DATA(part), fds.data(), fd_count * sizeof(int));
  ASSERT_EQ(::sendmsg(socket, &message, 0), static_cast<ssize_t>(text.size()));
}

TEST(PacketSocketTest, TooManyDescriptorsAreAllClosed) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  const int before = count_open_fds();
  send_raw(left.fd(), "x", kMaxPacketFds + 1);
  EXPECT_TRUE(has_error(right.try_receive(kMaxPacket), ErrorCode::kProtocol));
  EXPECT_EQ(count_open_fds(), before);
  send_raw(left.fd(), "x", kMaxPacketFds);
  auto packet = right.try_receive(kMaxPacket);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->fds.size(), kMaxPacketFds);

  const std::vector<int> many(kMaxPacketFds + 1, left.fd());
  EXPECT_TRUE(has_error(left.send("x", many), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(left.send(""), ErrorCode::kInvalid));
}

TEST(PacketSocketTest, DescriptorsBeyondTheLimitOfOpenFilesAreToldAndClosed) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  const int before = count_open_fds();
  send_raw(left.fd(), "x", 5);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const UniqueFd next(::fcntl(left.fd(), F_DUPFD_CLOEXEC, 0));
  const rlimit two_more{static_cast<rlim_t>(next.get()) + 3, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &two_more), 0);
  const auto packet = right.try_receive(kMaxPacket);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_TRUE(has_error(packet, ErrorCode::kProtocol));
  EXPECT_EQ(packet.error().text,
            "receive: not all file descriptors of a packet arrived (2 did, at most 16); drop the "
            "peer, and see the limit of open files (ulimit -n)");
  EXPECT_EQ(count_open_fds(), before + 1) << "but for the one that showed the next number";
}

TEST(PacketSocketTest, AFullSocketIsToldAndWaitsOnlyForTheTimeGiven) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto& [left, right] = *sockets;
  const std::string large(kMaxPacket, 'x');
  int accepted = 0;
  for (;;) {
    const auto sent = left.try_send(large);
    ASSERT_TRUE(is_ok(sent));
    if (!*sent) break;
    ++accepted;
  }
  EXPECT_GE(accepted, 1);
  EXPECT_TRUE(has_error(left.send(large, {}, 1ms), ErrorCode::kTimeout));
  std::thread reader([&right = right, accepted] {
    for (int i = 0; i <= accepted; ++i) {
      ASSERT_TRUE(right.receive(kMaxPacket, kLong).has_value());
    }
  });
  EXPECT_TRUE(is_ok(left.send(large, {}, kLong)));
  reader.join();
  EXPECT_TRUE(has_error(left.send(std::string(64 << 20, 'x')), ErrorCode::kTooBig));
}

TEST(PacketSocketTest, ListensAndAcceptsAtAPath) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  EXPECT_TRUE(has_error(PacketSocket::connect(path), ErrorCode::kNoCoordinator));
  auto listener = PacketSocket::listen(path);
  ASSERT_TRUE(is_ok(listener));
  EXPECT_TRUE(has_error(PacketSocket::listen(path), ErrorCode::kAlreadyRunning));
  auto none = listener->accept();
  ASSERT_TRUE(is_ok(none));
  EXPECT_FALSE(none->has_value());

  auto client = PacketSocket::connect(path);
  ASSERT_TRUE(is_ok(client));
  EXPECT_TRUE(wait_readable(listener->fd(), kLong));
  auto server = listener->accept();
  ASSERT_TRUE(is_ok(server));
  ASSERT_TRUE(server->has_value());
  ASSERT_TRUE(is_ok(client->send("hello")));
  auto packet = (*server)->receive(kMaxPacket, kLong);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  EXPECT_EQ((*packet)->text, "hello");

  listener->close();
  EXPECT_TRUE(has_error(PacketSocket::connect(path), ErrorCode::kNoCoordinator));
}

TEST(PacketSocketTest, LongPathsWorkAndLongNamesAreRefused) {
  const TemporaryDirectory directory;
  const std::string deep = directory / std::string(100, 'd');
  EXPECT_TRUE(has_error(PacketSocket::connect(deep + "/socket"), ErrorCode::kNoCoordinator));
  ASSERT_TRUE(std::filesystem::create_directory(deep));
  const int before = count_open_fds();
  {
    auto listener = PacketSocket::listen(deep + "/socket");
    ASSERT_TRUE(is_ok(listener));
    auto client = PacketSocket::connect(deep + "/socket");
    ASSERT_TRUE(is_ok(client));
    EXPECT_TRUE(std::filesystem::exists(deep + "/socket"));
  }
  EXPECT_EQ(count_open_fds(), before);
  EXPECT_TRUE(
      has_error(PacketSocket::listen(deep + "/" + std::string(81, 's')), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(PacketSocket::listen(""), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(PacketSocket::listen(std::string("a\0b", 3)), ErrorCode::kInvalid));
}

TEST(PacketSocketTest, FromFdTakesOnlyPacketSockets) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const UniqueFd right(ends[1]);
  auto left = PacketSocket::from_fd(UniqueFd(ends[0]));
  ASSERT_TRUE(is_ok(left));
  EXPECT_TRUE((::fcntl(left->fd(), F_GETFL) & O_NONBLOCK) != 0);
  EXPECT_TRUE((::fcntl(left->fd(), F_GETFD) & FD_CLOEXEC) != 0);
  auto event = create_event_fd();
  ASSERT_TRUE(is_ok(event));
  EXPECT_TRUE(has_error(PacketSocket::from_fd(std::move(*event)), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(PacketSocket::from_fd(UniqueFd()), ErrorCode::kInvalid));
  EXPECT_TRUE(has_error(PacketSocket::from_fd(UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0))),
                        ErrorCode::kInvalid));
}

TEST(PeerIdentityTest, TheKernelNamesTheProcessThatConnected) {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  auto listener = PacketSocket::listen(path);
  ASSERT_TRUE(is_ok(listener));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto client = PacketSocket::connect(path);
    for (;;) ::pause();
  }
  EXPECT_TRUE(wait_readable(listener->fd(), kLong));
  auto server = listener->accept();
  ASSERT_TRUE(is_ok(server));
  ASSERT_TRUE(server->has_value());
  auto peer = (*server)->peer_identity();
  ::kill(child, SIGKILL);
  ASSERT_TRUE(is_ok(peer));
  EXPECT_EQ(peer->pid, child);
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  if (peer->pidfd.valid()) {  // Linux 6.5
    EXPECT_TRUE(wait_readable(peer->pidfd.get(), kLong));
    EXPECT_TRUE(is_ok(check_pidfd(peer->pidfd.get(), child)));
  }
  ::waitpid(child, nullptr, 0);
}

TEST(PeerIdentityTest, TheFallbackIsThePidfdThatThePeerSent) {
  auto sockets = PacketSocket::pair();
  ASSERT_TRUE(is_ok(sockets));
  auto own = open_pidfd(::getpid());
  ASSERT_TRUE(is_ok(own));
  const int sent[] = {own->get()};
  ASSERT_TRUE(is_ok(sockets->first.send("attach", sent)));
  auto packet = sockets->second.receive(kMaxPacket, kLong);
  ASSERT_TRUE(is_ok(packet));
  ASSERT_TRUE(packet->has_value());
  auto peer = sockets->second.peer_identity();
  ASSERT_TRUE(is_ok(peer));
  EXPECT_TRUE(is_ok(check_pidfd((*packet)->fds.at(0).get(), peer->pid)));
  const Child other;
  EXPECT_TRUE(has_error(check_pidfd(other.pidfd(), peer->pid), ErrorCode::kDenied));
}

}  // namespace
}  // namespace beeline::os
