#include "bench/spawn_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include <beeline/agent.h>
#include <fmt/format.h>

#include "src/os/process.h"

namespace beeline::bench {
namespace {

constexpr std::string_view kChildWord = "--spawned";
constexpr int kRawWords = 4;  // the program, the word above, name and parent

}  // namespace

std::vector<std::string> child_command() {
  return {os::executable_directory() + "/beeline-bench", std::string(kChildWord)};
}

std::vector<std::string> raw_child_command(const std::string& name, const std::string& parent) {
  auto command = child_command();
  command.insert(command.end(), {name, parent});
  return command;
}

bool is_child(int argc, const char* const* argv) { return argc > 1 && argv[1] == kChildWord; }

int play_child(int argc, const char* const* argv) {
  const bool is_raw = argc == kRawWords;
  AttachOptions options;
  options.start_coordinator = false;
  options.wait = WaitMode::kSleep;
  if (is_raw) {
    // The steward ends the other children if the bench cannot.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.name = argv[2];
    options.parent = argv[3];
    options.temporary = true;
  }
  const auto say = [&](char byte) { return !is_raw || ::write(kChildFd, &byte, 1) == 1; };
  auto agent = Agent::attach(options);
  if (!agent || !say(kChildAttached)) {
    const std::string text = agent ? "the bench has ended" : agent.error().text;
    std::fputs(fmt::format("beeline-bench: a child of the bench: {}\n", text).c_str(), stderr);
    (void)say(kChildFailed);
    return 1;
  }
  // The parent of children hears of their ends meanwhile.
  while (auto message = agent->receive()) {
    if (message->type() == kShutdownOrder) break;
    message->done();
  }
  return 0;
}

}  // namespace beeline::bench
