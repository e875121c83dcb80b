// The agent that the tests of the steward spawn. Usage: steward-child MODE [ARGUMENT]
//   serve      obeys messages: "exit N", "env NAME", "limit NUMBER", "directory", "spawn NAME
//   MODE",
//              "mail" (counts what waits); ends with 0 at the message `shutdown`
//   count      as serve, and counts SIGHUP, SIGINT, SIGUSR1 and SIGUSR2: "signals" tells
//   stubborn   attaches and takes neither messages nor SIGTERM
//   end N      attaches and exits with N
//   flood N    attaches, writes N lines and exits with 0
// Each writes "NAME begin" and, at the message `shutdown`, "NAME end" to the file $LEDGER.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include <beeline/agent.h>

namespace {

using beeline::Agent;

void note(const Agent& agent, const std::string& word) {
  const char* const path = std::getenv("LEDGER");
  if (path == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = agent.name() + " " + word + "\n";
  if (::write(fd, line.data(), line.size()) < 0) std::abort();
  ::close(fd);
}

constexpr std::array kCounted = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2};
std::array<std::atomic<int>, kCounted.size()> g_signals{};

void count_signals() {
  for (const int number : kCounted) {
    ::signal(number, [](int got) {
      for (std::size_t i = 0; i < kCounted.size(); ++i) g_signals[i] += kCounted[i] == got;
    });
  }
}

std::string spawn(Agent& agent, const std::string& name, const std::string& mode) {
  beeline::SpawnOptions options;
  options.name = name;
  options.role = "lead";
  options.command = {"/proc/self/exe", mode};
  options.command.front() = std::filesystem::read_symlink("/proc/self/exe");
  const auto child = agent.processes().spawn(options);
  return child ? std::to_string(child->pid) : child.error().text;
}

std::string answer(Agent& agent, const std::string& text) {
  std::istringstream words(text);
  std::string verb;
  std::string first;
  std::string second;
  words >> verb >> first >> second;
  if (verb == "directory") return std::filesystem::current_path();
  if (verb == "spawn") return spawn(agent, first, second);
  if (verb == "signals") {
    std::string counts;
    for (const auto& count : g_signals) counts += std::to_string(count);
    return counts;
  }
  if (verb == "mail") return std::to_string(agent.counters().queued);
  if (verb == "env") {
    const char* const value = std::getenv(first.c_str());
    return value == nullptr ? "(none)" : value;
  }
  if (verb == "limit") {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(std::stoi(first)), &limit);
    return std::to_string(limit.rlim_cur);
  }
  return text;
}

int serve(Agent& agent) {
  for (;;) {
    auto message = agent.receive();
    if (!message) return 0;
    if (message->type() == beeline::kShutdownOrder) {
      note(agent, "end");
      message->done();
      return 0;
    }
    if (message->text().starts_with("exit ")) {
      const int status = std::stoi(std::string(message->text().substr(5)));
      message->done();
      return status;
    }
    const std::string text = answer(agent, std::string(message->text()));
    if (!agent.reply_until(*message, text, beeline::after(std::chrono::seconds(10)))) return 9;
    if (message->valid()) message->done();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  // Before it counts as ready.
  if (mode == "count") count_signals();
  if (mode == "stubborn") ::signal(SIGTERM, SIG_IGN);
  auto agent = Agent::attach({});
  if (!agent) {
    std::printf("%s\n", agent.error().text.c_str());
    return 8;
  }
  note(*agent, "begin");
  if (mode == "end") return number;
  if (mode == "flood") {
    for (int i = 1; i <= number; ++i) std::printf("line %d of the flood\n", i);
    return 0;
  }
  if (mode == "stubborn") {
    for (;;) ::pause();
  }
  return serve(*agent);
}
