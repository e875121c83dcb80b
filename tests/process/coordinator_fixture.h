#pragma once

// A scratch hive with the real beelined, and agents that speak to it through the client of the
// library and with real segments.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "shm/directory.h"
#include "shm/home.h"
#include "shm/link.h"
#include "shm/status.h"
#include "src/control/client.h"
#include "src/os/clock.h"
#include "src/os/event_fd.h"
#include "src/os/mapping.h"
#include "src/os/pid_fd.h"
#include "src/os/process.h"
#include "src/segment/owned.h"

namespace beeline::control {

using namespace std::chrono_literals;

inline constexpr auto kLong = 60s;  // longer than anything here takes; never measured

template <typename T>
testing::AssertionResult is_ok(const Result<T>& result) {
  if (result.has_value()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << to_string(result.error().code) << ": " << result.error().text;
}

template <typename T>
testing::AssertionResult has_error(const Result<T>& result, ErrorCode code,
                                   const std::string& part = "") {
  if (result.has_value()) return testing::AssertionFailure() << "it succeeded";
  if (result.error().code == code && result.error().text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << to_string(result.error().code) << ": " << result.error().text;
}

// Repeats the condition until it is true or the time is over.
template <typename Condition>
bool eventually(Condition&& condition, std::chrono::nanoseconds limit = kLong) {
  const std::int64_t end_ns = os::monotonic_ns() + limit.count();
  while (!condition()) {
    if (os::monotonic_ns() > end_ns) return false;
    ::usleep(1000);
  }
  return true;
}

// How many descriptors another process has open.
inline std::ptrdiff_t descriptors_of(pid_t process) {
  const std::filesystem::path all = "/proc/" + std::to_string(process) + "/fd";
  return std::distance(std::filesystem::directory_iterator(all), {});
}

// One life of an agent: its connection, its segments, and the announcements that it got.
struct TestAgent {
  Client client;
  Attached attached;
  AttachRequest request;
  segment::Owned home;
  segment::Owned status;
  os::UniqueFd event;
  os::Mapping directory;
  std::map<std::uint32_t, segment::Owned> links;  // by serial
  std::uint32_t next_serial = 1;

  [[nodiscard]] Pid pid() const { return attached.pid; }
  [[nodiscard]] shm::AgentWord word(std::uint32_t index) const {
    return shm::DirectoryView(directory.data()).agent(index);
  }
  [[nodiscard]] shm::AgentWord own_word() const { return word(attached.index); }

  Result<void> attach(AttachRequest wanted) {
    auto connected = Client::connect();
    if (!connected) return tl::unexpected(connected.error());
    client = std::move(*connected);
    request = wanted;
    auto answer = client.attach(std::move(wanted));
    if (!answer) return tl::unexpected(answer.error());
    attached = std::move(*answer);
    return map_directory(attached.directory.get());
  }

  Result<void> map_directory(int fd) {
    auto mapping = os::Mapping::map_readable(fd, shm::DirectoryLayout::kBytes);
    if (!mapping) return tl::unexpected(mapping.error());
    directory = std::move(*mapping);
    return {};
  }

  void make_segments() {
    constexpr std::uint32_t kCapacity = 16;
    home = *segment::Owned::create("test-home", shm::HomeLayout(kCapacity).bytes, shm::kPage);
    shm::HomeOptions options;
    options.capacity = kCapacity;
    shm::init_home(shm::Home(home.data(), kCapacity), options, pid(), attached.incarnation);
    status = *segment::Owned::create("test-status", shm::kStatusBytes, shm::kStatusBytes);
    shm::init_status(*reinterpret_cast<shm::StatusPage*>(status.data()), pid(),
                     attached.incarnation);
    event = *os::create_event_fd();
  }

  Result<void> provide(bool ready) {
    make_segments();
    return client.provide(home.fd(), status.fd(), event.get(), ready);
  }

  Result<Opened> open(Pid to, bool again = false, std::optional<std::uint32_t> old = {}) {
    const shm::LinkContract contract;
    const std::uint32_t serial = old.value_or(next_serial);
    if (!old) {
      ++next_serial;
      const shm::LinkLayout layout(contract);
      links[serial] = *segment::Owned::create_link("test-link", layout);
      shm::init_link(shm::Link(links[serial].data(), contract),
                     shm::link_identity(contract, pid(), to, {attached.incarnation, serial}));
    }
    OpenRequest wanted;
    wanted.to = to;
    wanted.serial = serial;
    wanted.contract = contract;
    wanted.again = again;
    return client.open(wanted, links[serial].fd());
  }

  // Publishes a small message in a link of this agent.
  void publish(std::uint32_t serial, std::uint64_t position) {
    shm::MessageHeader header{};
    header.id = shm::make_message_id(pid(), position + 1);
    header.length = 5;
    header.slab = shm::kNoSlab.value();
    const shm::Link link(links.at(serial).data(), shm::LinkContract{});
    const char payload[shm::kInlineBytes] = "hello";
    shm::publish_slot(link.slot(shm::Lane::kNormal, position), position, header, 0, payload);
  }

  Result<Resumed> resume(bool ready = true) {
    if (auto connected = client.reconnect(); !connected) return tl::unexpected(connected.error());
    ResumeRequest wanted;
    wanted.as = request;
    wanted.as.name = attached.name;
    wanted.pid = pid();
    wanted.incarnation = attached.incarnation;
    wanted.parent_pid = attached.parent_pid;
    wanted.ready = ready;
    return client.resume(std::move(wanted), home.fd(), status.fd(), event.get());
  }

  // The next announcement of one kind; others are skipped.
  template <typename T>
  std::optional<T> next(std::chrono::nanoseconds limit = kLong) {
    const std::int64_t end_ns = os::monotonic_ns() + limit.count();
    for (;;) {
      while (auto announcement = client.try_next()) {
        if (auto* wanted = std::get_if<T>(&*announcement)) return std::move(*wanted);
      }
      const std::chrono::nanoseconds left(end_ns - os::monotonic_ns());
      if (client.closed() || left.count() <= 0) return std::nullopt;
      (void)os::wait_readable(client.fd(), left);
    }
  }
};

// Makes $BEELINE_DIR for each test and ends the hive after it.
class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "beeline-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    ::setenv("BEELINE_DIR", (root_ + "/hive").c_str(), 1);
    ::unsetenv("BEELINE_HIVE");
  }

  void TearDown() override {
    ClientOptions quiet;
    quiet.start = false;
    if (auto client = Client::connect(quiet)) {
      EXPECT_TRUE(is_ok(client->down()));
    }
    if (HasFailure()) {
      std::ifstream log(root_ + "/beelined.log");
      std::cerr << log.rdbuf();
    }
    std::error_code none;
    if (std::filesystem::remove(root_ + "/hive/beelined.last.log",
                                none)) {  // the only file that stays
      std::filesystem::remove(root_ + "/hive", none);
    }
    EXPECT_FALSE(std::filesystem::exists(root_ + "/hive")) << "something was left behind";
    std::filesystem::remove_all(root_);
  }

  static std::string program() {
    const char* bin = std::getenv("BEELINE_BIN");
    return std::string(bin == nullptr ? os::executable_directory() : bin) + "/beelined";
  }

  // Runs beelined until it ends (it detaches); returns its exit status and its stderr.
  std::pair<int, std::string> run_beelined(std::vector<std::string> arguments) {
    const std::string errors = root_ + "/stderr";
    std::string command = program();
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    const int status = std::system((command + " 2>'" + errors + "'").c_str());
    std::stringstream text;
    text << std::ifstream(errors).rdbuf();
    return {WEXITSTATUS(status), text.str()};
  }

  void start(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--log", root_ + "/beelined.log"});
    const auto [status, text] = run_beelined(std::move(arguments));
    ASSERT_EQ(status, 0) << text;
  }

  [[nodiscard]] std::string log() const {
    std::stringstream text;
    text << std::ifstream(root_ + "/beelined.log").rdbuf();
    return text.str();
  }

  static Client connect() {
    auto client = Client::connect();
    EXPECT_TRUE(is_ok(client));
    return client ? std::move(*client) : Client();
  }

  static AttachRequest named(std::string name, std::string parent = "") {
    AttachRequest request;
    request.name = std::move(name);
    request.parent = std::move(parent);
    return request;
  }

  // An agent that is ready; its process is the test process.
  static TestAgent agent(AttachRequest request) {
    TestAgent made;
    EXPECT_TRUE(is_ok(made.attach(std::move(request))));
    EXPECT_TRUE(is_ok(made.provide(true)));
    return made;
  }

  // Runs `body` in a child, which then waits for its death. Returns once the body is done.
  template <typename Body>
  pid_t spawn(Body&& body) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      TestAgent agent;
      const bool good = body(agent);
      (void)!::write(ends[1], good ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 0;
    ::close(ends[1]);
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    ::close(ends[0]);
    EXPECT_EQ(answer, 'y') << "the child failed";
    return child;
  }

  static void kill_child(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  std::string root_;
};

}  // namespace beeline::control
