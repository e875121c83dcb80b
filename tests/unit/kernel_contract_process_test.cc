// The facts about processes, pidfds and sockets of the kernel that the design relies on.

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>

#include "kernel_contract.h"
#include "src/os/event_fd.h"
#include "src/os/packet_socket.h"

namespace beeline::os {
namespace {

// ---- Processes ----------------------------------------------------------------------------------

TEST(KernelContract, DeathAndPidfds) {
  Memory memory;
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::uint32_t i = 1;; ++i) memory.word() = i;
  }
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ASSERT_TRUE(pidfd.valid());
  ::kill(child, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT), 0);
  fact("the pidfd of a stopped process is not readable", !has_exited(pidfd.get()));
  ::kill(child, SIGCONT);
  ::kill(child, SIGKILL);
  ASSERT_TRUE(wait_readable(pidfd.get(), kLong));
  const std::uint32_t last = memory.word();
  fact("the pidfd of a killed process is readable before it is reaped",
       ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  fact("kill(pid, 0) says that a zombie lives: it proves nothing", ::kill(child, 0) == 0);
  for (int i = 0; i < 100; ++i) ::sched_yield();
  fact("nothing is stored after the pidfd has fired", memory.word() == last);
  ::waitpid(child, nullptr, 0);
  refused("a signal through the pidfd of a reaped process finds nobody",
          ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0), {ESRCH});

  const std::string reuse = "a process number is used again, and the old pidfd is not fooled";
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&child);
  arguments.set_tid_size = 1;
  const long second = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (second == 0) {
    for (;;) ::pause();
  }
  if (second < 0) {
    not_tried(reuse, std::string("clone3 with set_tid: ") + std::strerror(errno));
    return;
  }
  fact(reuse, second == child && ::kill(child, 0) == 0 && has_exited(pidfd.get()) &&
                  ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) < 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

struct Scribbler {
  std::atomic<std::uint32_t>* word;
  std::atomic<std::uint32_t>* stop;
};
int scribble(void* argument) {
  const auto& shared = *static_cast<Scribbler*>(argument);
  while (*shared.stop == 0) ++*shared.word;
  return 0;
}

TEST(KernelContract, AnOrphanThatSharesTheMemoryGoesOnWriting) {
  Memory memory;
  ASSERT_EQ(::madvise(memory.at, kContractBytes, MADV_DOFORK), 0);
  alignas(64) static std::array<char, 64 * 1024> stack;
  Scribbler scribbler{&memory.word(0), &memory.word(1)};
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::madvise(memory.at, kContractBytes, MADV_DONTFORK);
    ::clone(scribble, stack.data() + stack.size(), CLONE_VM, &scribbler);
    for (;;) ::pause();
  }
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  while (memory.word(0) == 0) ::sched_yield();
  ::kill(parent, SIGKILL);
  ASSERT_TRUE(wait_readable(pidfd.get(), kLong));
  const std::uint32_t then = memory.word(0);
  while (memory.word(0) == then) ::sched_yield();  // ctest ends a test that hangs here
  fact("a CLONE_VM child writes on after the pidfd has fired: old segments are read as hostile",
       memory.word(0) != then);
  memory.word(1) = 1;
  ::waitpid(parent, nullptr, 0);
}

// ---- Sockets ------------------------------------------------------------------------------------

bool send_fd(int socket, int fd) {
  char byte = 'x';
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

TEST(KernelContract, DescriptorsUnderWay) {
  int sockets[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  (void)status_of_child([&] {
    const int fd = ::memfd_create("contract", MFD_CLOEXEC);
    if (::write(fd, "kept", 4) == 4 && send_fd(theirs.get(), fd)) ::kill(::getpid(), SIGKILL);
  });
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ASSERT_EQ(::recvmsg(ours.get(), &message, MSG_CMSG_CLOEXEC), 1);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  const UniqueFd arrived(fd);
  std::array<char, 5> text{};
  fact("a descriptor arrives whole although its sender was killed",
       ::pread(arrived.get(), text.data(), 4, 0) == 4 && std::string(text.data()) == "kept");

  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_TRUE(send_fd(ours.get(), writer.get()));
  writer.reset();
  refused("a descriptor under way is open", ::read(reader.get(), &byte, 1), {EAGAIN});
  theirs.reset();
  fact("a descriptor that nobody took is closed with the socket",
       ::read(reader.get(), &byte, 1) == 0);
}

TEST(KernelContract, TheKernelNamesTheProcessAtTheOtherEndOfASocket) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD
  const TemporaryDirectory directory;
  auto listener = PacketSocket::listen(directory / "socket.new");
  ASSERT_TRUE(listener);
  ASSERT_EQ(::rename((directory / "socket.new").c_str(), (directory / "socket").c_str()), 0);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto connected = PacketSocket::connect(directory / "socket");
    (void)!::write(ends[1], connected ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(reader.get(), &answer, 1), 1);
  fact("a socket that was renamed is found under its new name", answer == 'y');
  auto accepted = listener->accept();
  ASSERT_TRUE(accepted && *accepted);
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  const int asked = ::getsockopt((*accepted)->fd(), SOL_SOCKET, kPeerPidfd, &pidfd, &length);
  const int sys_errno = errno;
  const UniqueFd owner(asked == 0 ? pidfd : -1);
  ::kill(child, SIGKILL);
  const std::string sentence = "SO_PEERPIDFD stands for the process that connected";
  if (asked != 0 && sys_errno == ENOPROTOOPT) {
    not_tried(sentence, "a kernel before 6.5");
  } else {
    fact(sentence, asked == 0 && wait_readable(owner.get(), kLong));
  }
  ::waitpid(child, nullptr, 0);
  ucred credentials{};
  length = sizeof credentials;
  fact("SO_PEERCRED names the process that connected, also after its end",
       ::getsockopt((*accepted)->fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
           credentials.pid == child);
}

}  // namespace
}  // namespace beeline::os
