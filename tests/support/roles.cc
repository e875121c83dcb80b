#include "tests/support/roles.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/main_hook.h"

namespace beeline::test {

namespace {

constexpr std::string_view kFlag = "--role";
constexpr int kExitUsage = 2;

std::map<std::string, RoleFunction, std::less<>>& table() {
  static std::map<std::string, RoleFunction, std::less<>> roles;
  return roles;
}

// NAME:NUMBER:FD:BYTES
bool parse(std::string_view text, RoleCommand& command) {
  const std::size_t end = text.find(':');
  if (end == std::string_view::npos) return false;
  command.role = text.substr(0, end);
  const std::string rest(text.substr(end + 1));
  return std::sscanf(rest.c_str(), "%u:%d:%zu", &command.number, &command.board_fd,
                     &command.board_bytes) == 3;
}

int run_as_role(int argc, char** argv) {
  if (argc != 3 || argv[1] != kFlag) return -1;
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  RoleCommand command;
  const RoleFunction role = parse(argv[2], command) ? find_role(command.role) : nullptr;
  if (role == nullptr || ::getppid() != parent) {
    std::fprintf(stderr, "no role in \"%s\"\n", argv[2]);
    return kExitUsage;
  }
  const SharedMemory memory(command.board_fd, command.board_bytes);
  int no_tests = 1;
  char* no_arguments[] = {argv[0], nullptr};
  testing::InitGoogleTest(&no_tests, no_arguments);
  role({memory, command.number});
  std::fflush(stdout);
  return testing::UnitTest::GetInstance()->Failed() ? kExitFailed : 0;
}

}  // namespace

RoleFunction find_role(std::string_view name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

RoleRegistration::RoleRegistration(const char* name, RoleFunction function) {
  if (!table().emplace(name, function).second) {
    std::fprintf(stderr, "the role \"%s\" is defined twice\n", name);
    std::abort();
  }
  main_hook = run_as_role;
}

std::string to_argument(const RoleCommand& command) {
  return command.role + ":" + std::to_string(command.number) + ":" +
         std::to_string(command.board_fd) + ":" + std::to_string(command.board_bytes);
}

}  // namespace beeline::test
