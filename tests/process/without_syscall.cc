// without-syscall NAME PROGRAM [ARGUMENT...]: runs the program and its children on a kernel that
// lacks a system call, refuses it for certain arguments, or reports success and does nothing.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

constexpr unsigned kPretends = 0;  // instead of an error
constexpr unsigned kBlockBytes = 4096;
constexpr unsigned kProbeBytes = 2 * kBlockBytes;

struct Argument {
  unsigned place;
  unsigned value;  // of the lower half of an argument
};
struct Known {
  std::string_view name;
  unsigned number;
  unsigned error;
  std::vector<Argument> arguments{};  // empty: all calls
};

const std::array kKnown = {
    Known{"chown", SYS_chown, ENOSYS},
    Known{"close_range", SYS_close_range, ENOSYS},
    Known{"inotify_init1", SYS_inotify_init1, EMFILE},
    Known{"memfd_create", SYS_memfd_create, ENOSYS},
    Known{"pidfd_open", SYS_pidfd_open, ENOSYS},
    // The checks at startup use these (src/os/kernel.cc).
    Known{"seals", SYS_fcntl, kPretends, {{1, F_ADD_SEALS}}},
    Known{"further seals", SYS_fcntl, kPretends, {{1, F_ADD_SEALS}, {2, F_SEAL_SHRINK}}},
    Known{"shrinking", SYS_ftruncate, kPretends, {{1, kBlockBytes}}},
    Known{"growing", SYS_ftruncate, kPretends, {{1, kProbeBytes + kBlockBytes}}},
    Known{"the second extent", SYS_fallocate, EPERM, {{2, kBlockBytes}}},
    Known{"mremap", SYS_mremap, EPERM},
    Known{"mapping for reading", SYS_mmap, EPERM, {{2, PROT_READ}, {3, MAP_SHARED}}},
    Known{"futex wait", SYS_futex, EPERM, {{1, FUTEX_WAIT}}},
    Known{"futex wake", SYS_futex, EPERM, {{1, FUTEX_WAKE}}},
    Known{"sendmsg", SYS_sendmsg, EPERM},
};

bool take_away(const Known& known) {
  std::vector<sock_filter> filter;
  const auto load = [&](std::size_t offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  const auto let_go_unless = [&](unsigned value) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  };
  load(offsetof(seccomp_data, nr));
  let_go_unless(known.number);
  for (const Argument& argument : known.arguments) {
    load(offsetof(seccomp_data, args) + argument.place * sizeof(std::uint64_t));
    let_go_unless(argument.value);
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | known.error));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (const Known& known : kKnown) {
    if (known.name != argv[1]) continue;
    if (!take_away(known)) {
      std::perror("without-syscall");
      return 77;
    }
    ::execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    return 127;
  }
  std::fprintf(stderr, "without-syscall: %s is not known here\n", argv[1]);
  return 2;
}
