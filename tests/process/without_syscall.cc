// without-syscall NAME PROGRAM [ARGUMENT...]: runs the program on a kernel that lacks a system
// call: it fails with ENOSYS there and in every child.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace {

struct Known {
  std::string_view name;
  unsigned number;
};
constexpr std::array kKnown = {Known{"chown", SYS_chown}, Known{"close_range", SYS_close_range},
                               Known{"memfd_create", SYS_memfd_create},
                               Known{"pidfd_open", SYS_pidfd_open}};

bool take_away(unsigned number) {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (const Known& known : kKnown) {
    if (known.name != argv[1]) continue;
    if (!take_away(known.number)) {
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
