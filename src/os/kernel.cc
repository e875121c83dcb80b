#include "src/os/kernel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "src/os/error.h"
#include "src/os/fd.h"
#include "src/os/futex.h"
#include "src/os/mapping.h"
#include "src/os/memfd.h"
#include "src/os/packet_socket.h"
#include "src/os/pid_fd.h"

namespace beeline::os {

namespace {

constexpr std::uint64_t kProbeBytes = 2 * kBlockBytes;

// A sealed segment with one allocated block, as its owner has it.
struct Probe {
  UniqueFd fd;
  Mapping mapping;
};

Result<Probe> make_probe() {
  auto fd = create_memfd("beeline-probe", kProbeBytes);
  if (!fd) return tl::unexpected(fd.error());
  if (auto done = allocate(fd->get(), {0, kBlockBytes}); !done) return tl::unexpected(done.error());
  auto mapping = Mapping::map_writable(fd->get(), kProbeBytes);
  if (!mapping) return tl::unexpected(mapping.error());
  if (auto done = seal(fd->get()); !done) return tl::unexpected(done.error());
  return Probe{std::move(*fd), std::move(*mapping)};
}

Result<UniqueFd> open_again(const Probe& probe, int flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(probe.fd.get());
  UniqueFd again(::open(path.c_str(), flags | O_CLOEXEC));
  if (!again.valid()) return system_failure("cannot open " + path + " again");
  return again;
}

// No process may write it through another mapping, whatever way the descriptor was opened, nor
// change its size, nor seal its owner's own mapping.
Result<void> probe_seals(const Probe& probe) {
  const auto again = open_again(probe, O_RDWR);
  for (const int fd : {probe.fd.get(), again ? again->get() : -1}) {
    void* const second = ::mmap(nullptr, kProbeBytes, PROT_WRITE, MAP_SHARED, fd, 0);
    if (second == MAP_FAILED) continue;
    ::munmap(second, kProbeBytes);
    return fail(ErrorCode::kSystem, "a sealed memfd can be mapped for writing once more");
  }
  if (::ftruncate(probe.fd.get(), kBlockBytes) == 0) {
    return fail(ErrorCode::kSystem, "a sealed memfd can be made smaller");
  }
  if (::ftruncate(probe.fd.get(), kProbeBytes + kBlockBytes) == 0) {
    return fail(ErrorCode::kSystem, "a sealed memfd can be made larger");
  }
  // Tries a seal that the file has already: for any other the kernel could say that our mapping
  // stands against it.
  if (::fcntl(probe.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    return fail(ErrorCode::kSystem, "a sealed memfd takes further seals");
  }
  return {};
}

Result<void> probe_growth(const Probe& probe) {
  return allocate(probe.fd.get(), {kBlockBytes, kBlockBytes});
}

// Its owner may write it through one more mapping, duplicated from the first.
Result<void> probe_windows(const Probe& probe) {
  auto window = probe.mapping.duplicate(0, 0, kBlockBytes);
  if (!window) return tl::unexpected(window.error());
  window->data()[0] = std::byte{0};
  return {};
}

Result<Mapping> read_only_mapping(const Probe& probe) {
  const auto again = open_again(probe, O_RDONLY);
  if (!again) return tl::unexpected(again.error());
  return Mapping::map_readable(again->get(), kProbeBytes);
}

Result<void> probe_reopen(const Probe& probe) {
  const auto mapping = read_only_mapping(probe);
  if (!mapping) return tl::unexpected(mapping.error());
  return {};
}

Result<void> probe_futex(const Probe& probe) {
  const auto mapping = read_only_mapping(probe);
  if (!mapping) return tl::unexpected(mapping.error());
  // The word holds another value, so no thread sleeps, and none is woken.
  const WaitOutcome outcome = futex_wait(mapping->data(), 1, std::chrono::nanoseconds(0));
  if (outcome != WaitOutcome::kChanged) {
    return fail(ErrorCode::kSystem, "no process can sleep on memory that is mapped for reading");
  }
  if (!can_wake(mapping->data())) {
    return system_failure("cannot wake through memory that is mapped for reading");
  }
  return {};
}

Result<void> probe_pidfd(const Probe&) {
  const auto pidfd = open_pidfd(::getpid());
  if (!pidfd) return tl::unexpected(pidfd.error());
  const auto pid = pid_of(pidfd->get());
  if (!pid) return tl::unexpected(pid.error());
  return {};
}

Result<void> probe_packets(const Probe&) {
  auto sockets = PacketSocket::pair();
  if (!sockets) return tl::unexpected(sockets.error());
  const int fd = sockets->second.fd();
  if (auto sent = sockets->first.try_send("probe", {&fd, 1}); !sent) {
    return tl::unexpected(sent.error());
  }
  const auto packet = sockets->second.try_receive(kProbeBytes);
  if (!packet) return tl::unexpected(packet.error());
  if (*packet && (*packet)->fds.size() == 1) return {};
  return fail(ErrorCode::kSystem, "a packet arrives without its descriptor");
}

}  // namespace

std::vector<KernelFact> probe_kernel() {
  struct Question {
    std::string_view name;
    std::string_view needed_for;
    Result<void> (*probe)(const Probe& probe);
  };
  constexpr std::array kQuestions = {
      Question{"memfd_seals", "segments that their readers cannot write (Linux 5.1)", probe_seals},
      Question{"memfd_growth", "more memory for a segment that is sealed", probe_growth},
      Question{"memfd_windows", "slabs of a link, mapped when they are used", probe_windows},
      Question{"memfd_reopen", "descriptors for reading alone (/proc)", probe_reopen},
      Question{"futex_read_only", "waking a receiver through its status page", probe_futex},
      Question{"pidfd", "learning of the death of a process (Linux 5.3)", probe_pidfd},
      Question{"packet_sockets", "control messages with descriptors", probe_packets},
  };
  const auto made = make_probe();
  const Probe none;
  std::vector<KernelFact> facts;
  for (const Question& question : kQuestions) {
    KernelFact fact{question.name, question.needed_for, {}};
    const bool of_segment = question.probe != probe_pidfd && question.probe != probe_packets;
    const auto held = made || !of_segment ? question.probe(made ? *made : none)
                                          : Result<void>(tl::unexpected(made.error()));
    if (!held) fact.missing = held.error();
    facts.push_back(std::move(fact));
  }
  return facts;
}

bool is_known(const Error& error) {
  const int reason = error.sys_errno;
  return error.code != ErrorCode::kNoMemory && reason != EMFILE && reason != ENFILE &&
         reason != ENOMEM && reason != ENOBUFS && reason != EAGAIN && reason != EINTR;
}

Result<void> require_kernel() {
  for (const KernelFact& fact : probe_kernel()) {
    if (!fact.missing) continue;
    if (!is_known(*fact.missing)) return tl::unexpected(*fact.missing);
    return fail(ErrorCode::kSystem,
                "this system lacks " + std::string(fact.name) + ", needed for " +
                    std::string(fact.needed_for) + ": " + fact.missing->text +
                    "; use Linux 5.3 or newer, and see what a container or a seccomp filter "
                    "forbids (`beeline doctor`)");
  }
  return {};
}

}  // namespace beeline::os
