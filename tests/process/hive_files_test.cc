// The files of a hive: a failed start leaves them unchanged, a keeper protects those of a running
// hive and restores them, and nobody removes another hive's.

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "coordinator_fixture.h"
#include "src/control/log.h"
#include "src/os/lock_file.h"

namespace beeline::control {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class HiveFilesTest : public CoordinatorTest {
 protected:
  [[nodiscard]] fs::path hive() const { return root_ + "/hive"; }

  static StatusAnswer status() {
    ClientOptions options;
    options.start = false;
    auto client = Client::connect(options);
    EXPECT_TRUE(is_ok(client));
    auto status = client ? client->status() : Result<StatusAnswer>(StatusAnswer());
    EXPECT_TRUE(is_ok(status));
    return status ? *status : StatusAnswer();
  }
  static void kill_and_wait(pid_t process) {
    const auto pidfd = os::open_pidfd(process);
    ASSERT_TRUE(is_ok(pidfd));
    ASSERT_TRUE(os::send_signal(pidfd->get(), SIGKILL));
    ASSERT_TRUE(os::wait_readable(pidfd->get(), kLong));
  }
  // The files in the directory, with their texts.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(hive(), none)) {
      found[entry.path().filename()] = entry.is_regular_file() ? text_of(entry.path()) : "";
    }
    return found;
  }
  // All files are there, and the keeper has its lock: it makes the file first.
  [[nodiscard]] bool is_whole() const {
    const auto found = contents();
    for (const char* name : {"socket", "lock", "state.json", "beelined.log"}) {
      if (!found.contains(name)) return false;
    }
    const auto held = os::LockFile::is_held(hive() / "lock");
    return found.size() == 4 && held && *held;
  }
  // Starts a hive that cannot serve: its segments are larger than the limit of file sizes.
  [[nodiscard]] std::string fail_to_start() {
    const std::string errors = root_ + "/stderr";
    const std::string command = "ulimit -f 100; '" + program() + "' 2>'" + errors + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(("bash -c \"" + command + "\"").c_str())), 1);
    return text_of(errors);
  }
  bool is_logged(const std::string& part) {
    return eventually([&] { return log().find(part) != std::string::npos; });
  }
};

// ---- Starts that fail ---------------------------------------------------------------------------

TEST_F(HiveFilesTest, AStartThatFailsRemovesNothingThatItDidNotMake) {
  ASSERT_EQ(run_beelined({}).first, 0);
  TestAgent lead = agent(named("lead"));
  const StatusAnswer first = status();
  for (const pid_t process : {first.keeper_pid, first.coordinator_pid}) {
    ASSERT_NO_FATAL_FAILURE(kill_and_wait(process));
  }
  const auto before = contents();
  ASSERT_EQ(before.size(), 4U);
  const std::string text = fail_to_start();
  EXPECT_NE(text.find("File too large"), std::string::npos) << "the reason: " << text;
  EXPECT_NE(text.find((hive() / "beelined.log").string()), std::string::npos) << text;
  auto after = contents();
  EXPECT_TRUE(after.contains("state.json"));
  EXPECT_EQ(after["lock"], before.at("lock"));
  EXPECT_TRUE(after["beelined.log"].starts_with(before.at("beelined.log")));
  EXPECT_TRUE(after.contains("socket"));
  EXPECT_EQ(after.size(), before.size());

  ASSERT_EQ(run_beelined({}).first, 0);
  EXPECT_GT(agent(named("newcomer")).pid(), lead.pid()) << "the number was given out again";
  EXPECT_TRUE(is_ok(lead.resume())) << "an agent that lives is refused";
}

TEST_F(HiveFilesTest, AFirstStartThatFailsLeavesNothingBehind) {
  for (const bool was_there : {false, true}) {
    if (was_there) fs::create_directory(hive());
    const std::string text = fail_to_start();
    EXPECT_NE(text.find("File too large"), std::string::npos) << "the reason: " << text;
    EXPECT_EQ(text.find("see "), std::string::npos) << "the log has gone: " << text;
    EXPECT_EQ(fs::exists(hive()), was_there);
    EXPECT_TRUE(contents().empty());
  }
  fs::remove(hive());
}

TEST_F(HiveFilesTest, AFileThatIsNoSocketIsNotReplaced) {
  fs::create_directory(hive());
  std::ofstream(hive() / "socket") << "mine";
  const auto [code, text] = run_beelined({});
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find("is not a socket"), std::string::npos) << text;
  EXPECT_EQ(contents().at("socket"), "mine");
  EXPECT_EQ(contents().size(), 1U);
  fs::remove_all(hive());
}

// The hive serves all later clients, whatever process was first.
TEST_F(HiveFilesTest, AHiveInheritsNoPriorityCpuOrLimitFromItsStarter) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{1 << 16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const int code = std::system(("nice -n 5 '" + program() + "'").c_str());
  ASSERT_EQ(::sched_setaffinity(0, sizeof(all), &all), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_EQ(code, 0);
  const pid_t keeper = status().keeper_pid;
  rlimit found{};
  ASSERT_EQ(::prlimit(keeper, RLIMIT_FSIZE, nullptr, &found), 0);
  EXPECT_EQ(found.rlim_cur, before.rlim_max);
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(keeper, sizeof(cpus), &cpus), 0);
  EXPECT_GE(CPU_COUNT(&cpus), CPU_COUNT(&all));
  const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(keeper));
  EXPECT_EQ(nice, ::geteuid() == 0 ? 0 : 5) << "to lower it takes rights";
}

// ---- Files in use -------------------------------------------------------------------------------

// systemd-tmpfiles checks this lock before it removes old files.
TEST_F(HiveFilesTest, TheFilesOfAHiveAreMarkedAsInUse) {
  start();
  const os::UniqueFd directory(::open(hive().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_NE(::flock(directory.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(errno, EWOULDBLOCK);
  const std::string listeners = text_of("/proc/net/unix");
  EXPECT_NE(listeners.find(" " + (hive() / "socket").string() + "\n"), std::string::npos);
  EXPECT_TRUE(is_ok(connect().down()));
  EXPECT_EQ(::flock(directory.get(), LOCK_EX | LOCK_NB), 0) << "it is held by nobody";
}

TEST_F(HiveFilesTest, AFileThatIsRemovedFromAHiveInUseIsMadeAgain) {
  ASSERT_EQ(run_beelined({}).first, 0);
  TestAgent lead = agent(named("lead"));
  const StatusAnswer first = status();
  for (const std::string name : {"socket", "lock", "state.json", "beelined.log", "", "."}) {
    SCOPED_TRACE("removed: " + (name.empty() ? "all" : name));
    if (name.empty()) {
      std::error_code comes_back;  // before all files have gone
      fs::remove_all(hive(), comes_back);
    } else if (name == ".") {
      fs::rename(hive(), root_ + "/moved");
    } else {
      fs::remove(hive() / name);
    }
    ASSERT_TRUE(eventually([&] { return is_whole(); }));
    EXPECT_EQ(status().keeper_pid, first.keeper_pid);
    EXPECT_EQ(run_beelined({}).first, 3) << "a second hive";
    EXPECT_TRUE(is_ok(lead.client.status())) << "nobody loses its connection";
    EXPECT_EQ(agent(named("")).client.status()->keeper_pid, first.keeper_pid);
  }
  EXPECT_TRUE(eventually([&] {
    return text_of(hive() / "beelined.log").find("event=files_restored") != std::string::npos;
  }));
  ASSERT_NO_FATAL_FAILURE(kill_and_wait(first.coordinator_pid));
  EXPECT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  EXPECT_TRUE(is_ok(connect().down()));
  EXPECT_EQ(contents().size(), 1U) << "its log stays, and nothing else";
}

TEST_F(HiveFilesTest, ANewSocketIsListenedToThoughTheCoordinatorHadNoDescriptorFree) {
  start();
  Client owner = connect();  // a client that ends would free a descriptor
  const auto first = owner.status();
  ASSERT_TRUE(is_ok(first));
  rlimit before{};
  ASSERT_EQ(::prlimit(first->coordinator_pid, RLIMIT_NOFILE, nullptr, &before), 0);
  rlim_t free = 0;
  const fs::path open = "/proc/" + std::to_string(first->coordinator_pid) + "/fd";
  while (fs::exists(fs::symlink_status(open / std::to_string(free)))) ++free;
  for (const rlim_t few : {free, rlim_t{3}}) {  // the second limit leaves not even a reserved one
    const rlimit limit{few, before.rlim_max};
    ASSERT_EQ(::prlimit(first->coordinator_pid, RLIMIT_NOFILE, &limit, nullptr), 0);
    fs::remove(hive() / "socket");
    // The file is there before the keeper listens.
    auto socket = os::PacketSocket::connect(hive() / "socket");
    (void)eventually([&] {
      if (!socket) socket = os::PacketSocket::connect(hive() / "socket");
      return socket.has_value();
    });
    ASSERT_TRUE(is_ok(socket));
    if (few == free) {
      const auto refused = socket->receive(kMaxPacketBytes, kLong);
      ASSERT_TRUE(refused && *refused) << "nobody accepts";
      EXPECT_NE((*refused)->text.find("no file descriptor left"), std::string::npos);
    }
    ASSERT_EQ(::prlimit(first->coordinator_pid, RLIMIT_NOFILE, &before, nullptr), 0);
    EXPECT_EQ(status().coordinator_pid, first->coordinator_pid);
  }
}

TEST_F(HiveFilesTest, ClientsOfTheOldSocketAreServed) {
  constexpr int kMany = 80;  // more than are accepted at once
  start();
  const pid_t coordinator = status().coordinator_pid;
  ASSERT_EQ(::kill(coordinator, SIGSTOP), 0);
  std::vector<os::PacketSocket> waiting;
  for (int i = 0; i < kMany; ++i) {
    auto socket = os::PacketSocket::connect(hive() / "socket");
    ASSERT_TRUE(is_ok(socket));
    ASSERT_TRUE(is_ok(socket->send(build(Request(StatusRequest()), 1))));
    waiting.push_back(std::move(*socket));
  }
  fs::remove(hive() / "socket");
  EXPECT_TRUE(is_logged("event=files_restored"));
  ASSERT_EQ(::kill(coordinator, SIGCONT), 0);
  for (os::PacketSocket& socket : waiting) {
    const auto answer = socket.receive(kMaxPacketBytes, kLong);
    EXPECT_TRUE(answer && *answer);
  }
}

// The directory cannot be made again: the one above it is not ours.
TEST_F(HiveFilesTest, ACoordinatorThatDiesIsReplacedThoughAllFilesAreGone) {
  const std::string above = root_ + "/above";
  fs::create_directory(above);
  ::setenv("BEELINE_DIR", (above + "/hive").c_str(), 1);
  start();
  TestAgent lead = agent(named("lead"));
  const StatusAnswer first = status();
  // The keeper is stopped, so that it makes no file again between two that are removed.
  ASSERT_EQ(::kill(first.keeper_pid, SIGSTOP), 0);
  fs::remove_all(above);
  ASSERT_EQ(::kill(first.keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(is_logged("event=files_gone"));
  ASSERT_NO_FATAL_FAILURE(kill_and_wait(first.coordinator_pid));
  EXPECT_TRUE(is_logged("restarts=1"));
  EXPECT_TRUE(is_logged("event=state_unsaved"));
  fs::create_directory(above);
  EXPECT_TRUE(is_logged("event=files_restored"));
  EXPECT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  EXPECT_GT(agent(named("next")).pid(), lead.pid());
  EXPECT_EQ(status().keeper_pid, first.keeper_pid);
  EXPECT_TRUE(eventually([&] { return fs::exists(above + "/hive/state.json"); }));
}

TEST_F(HiveFilesTest, AKeeperWhosePlaceIsTakenSaysSoAndLeavesTheOtherHiveAlone) {
  start();
  const StatusAnswer first = status();
  const auto keeper = os::open_pidfd(first.keeper_pid);
  ASSERT_TRUE(is_ok(keeper));
  ASSERT_EQ(::kill(first.keeper_pid, SIGSTOP), 0);
  fs::remove_all(hive());
  ASSERT_EQ(run_beelined({"--log", root_ + "/second.log"}).first, 0);
  const StatusAnswer second = status();
  EXPECT_NE(second.keeper_pid, first.keeper_pid);
  ASSERT_EQ(::kill(first.keeper_pid, SIGCONT), 0);
  EXPECT_TRUE(is_logged("event=files_taken"));
  const auto before = contents();
  ASSERT_EQ(::kill(first.keeper_pid, SIGTERM), 0);
  EXPECT_TRUE(os::wait_readable(keeper->get(), kLong));
  EXPECT_TRUE(is_logged("event=files_left"));
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(status().keeper_pid, second.keeper_pid);
}

// ---- Files that cannot be written ---------------------------------------------------------------

TEST_F(HiveFilesTest, AStateFileThatCannotBeWrittenStopsTheFirstStartAndNoLaterOne) {
  fs::create_directories(hive() / "state.json.new");  // every write of it fails
  const auto [code, text] = run_beelined({});
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find((hive() / "state.json").string()), std::string::npos) << text;
  fs::remove(hive() / "state.json.new");

  start();
  TestAgent lead = agent(named("lead"));
  fs::create_directory(hive() / "state.json.new");
  ASSERT_NO_FATAL_FAILURE(kill_and_wait(status().coordinator_pid));
  ASSERT_TRUE(eventually([&] { return lead.resume().has_value(); }));
  EXPECT_TRUE(is_logged("event=state_unsaved"));
  EXPECT_GT(agent(named("next")).pid(), lead.pid());
  fs::remove(hive() / "state.json.new");
  EXPECT_TRUE(eventually([&] {
    (void)agent(named(""));
    return log().find("event=state_saved") != std::string::npos;
  }));
}

TEST_F(HiveFilesTest, ALogAtTheLimitOfFileSizesEndsNobody) {
  ASSERT_EQ(run_beelined({}).first, 0);
  TestAgent lead = agent(named("lead"));
  const StatusAnswer first = status();
  const auto log_bytes = fs::file_size(hive() / "beelined.log");
  for (const pid_t process : {first.keeper_pid, first.coordinator_pid}) {
    const rlimit limit{log_bytes + 10, log_bytes + 10};
    ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  for (int i = 0; i < 20; ++i) (void)agent(named(""));
  EXPECT_EQ(status().coordinator_pid, first.coordinator_pid);
  EXPECT_TRUE(fs::exists(hive() / "beelined.log.1")) << "it is begun anew";
  EXPECT_NE(text_of(hive() / "beelined.log").find("lines_dropped="), std::string::npos)
      << "what was lost is counted";
}

}  // namespace
}  // namespace beeline::control
