#include "tests/steward/steward_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "src/control/client.h"
#include "src/os/process.h"
#include "tests/support/program.h"

namespace beeline::steward::test {

namespace fs = std::filesystem;

StewardTest::StewardTest() {
  root_ = (fs::temp_directory_path() / "steward-test-XXXXXX").string();
  EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  directory_ = root_ + "/hive";
  ::setenv("BEELINE_DIR", directory_.c_str(), 1);
  ::setenv("BEELINE_HIVE", fs::path(root_).filename().c_str(), 1);
  ::setenv("LEDGER", (root_ + "/ledger").c_str(), 1);
  ::setenv("BEELINE_BIN", (os::executable_directory() + "/..").c_str(), 0);
  guard_.emplace(directory_);
  AttachOptions options;
  options.name = "boss";
  options.role = "lead";
  auto agent = Agent::attach(options);
  EXPECT_TRUE(agent) << agent.error().text;
  boss_ = std::move(*agent);
}

StewardTest::~StewardTest() {
  take_down();
  if (HasFailure()) {
    std::ifstream log(directory_ + "/beelined.last.log");
    std::cerr << std::string{std::istreambuf_iterator<char>(log), {}};
  }
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void StewardTest::take_down() {
  if (std::exchange(is_down_, true)) return;
  boss_.reset();
  control::ClientOptions options;
  options.start = false;
  auto client = control::Client::connect(options);
  ASSERT_TRUE(client) << client.error().text;
  const auto down = client->down();
  EXPECT_TRUE(down) << down.error().text;
  client->close();
  for (const pid_t pid : beeline::test::processes_with("BEELINE_DIR", directory_)) {
    ADD_FAILURE() << "process " << pid << " is left";
  }
}

SpawnOptions StewardTest::child(const std::string& name,
                                const std::vector<std::string>& arguments) {
  SpawnOptions options;
  options.name = name;
  options.role = "lead";
  options.command = {os::executable_directory() + "/steward-child"};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.ready_within = std::chrono::minutes(1);
  return options;
}

Pid StewardTest::spawn(const SpawnOptions& options) {
  const auto spawned = processes().spawn(options);
  EXPECT_TRUE(spawned) << spawned.error().text;
  return spawned ? spawned->pid : 0;
}

std::string StewardTest::ask(const std::string& name, const std::string& text) {
  const auto answer = boss_->request(name, text, after(kPatience));
  return answer ? std::string(answer->text()) : answer.error().text;
}

std::string StewardTest::ask_king(const std::string& type, const std::string& json) {
  SendOptions options;
  options.type = type;
  const auto answer = boss_->request(Pid{1}, json, after(kPatience), options);
  return answer ? std::string(answer->text()) : answer.error().text;
}

std::string StewardTest::next_text(const std::string& type) {
  ReceiveOptions options;
  options.timeout = kPatience;
  options.filter.type = type;
  auto message = boss_->receive(options);
  EXPECT_TRUE(message) << message.error().text;
  if (!message) return {};
  std::string text(message->text());
  message->done();
  return text;
}

ChildExit StewardTest::wait(Pid child) {
  const auto end = processes().wait(child, kPatience);
  EXPECT_TRUE(end) << end.error().text;
  return end ? *end : ChildExit{};
}

std::optional<ChildInfo> StewardTest::listed(const std::string& name) {
  const auto children = processes().list(/*recursive=*/true);
  EXPECT_TRUE(children) << children.error().text;
  if (!children) return std::nullopt;
  for (const ChildInfo& child : *children) {
    if (child.name == name) return child;
  }
  return std::nullopt;
}

std::vector<std::string> StewardTest::ledger() const {
  std::ifstream file(root_ + "/ledger");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

pid_t StewardTest::steward() const {
  const Deadline end = after(kPatience);
  while (std::chrono::steady_clock::now() < end) {
    for (const pid_t pid : beeline::test::processes_with("BEELINE_DIR", directory_)) {
      std::error_code gone;
      const auto program = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone);
      if (!gone && program.filename() == "beeline-steward") return pid;
    }
  }
  ADD_FAILURE() << "there is no steward";
  return 0;
}

}  // namespace beeline::steward::test
