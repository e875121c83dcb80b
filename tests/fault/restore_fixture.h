#pragma once

// A coordinator's hive without clients, between a keeper's table that a test writes and a keeper
// that only listens.

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/control/hive.h"
#include "src/control/king.h"
#include "src/control/links.h"
#include "src/control/records.h"
#include "src/control/restore.h"
#include "src/os/event_fd.h"
#include "src/os/pid_fd.h"
#include "src/send/out_link.h"

namespace beeline::control {

// Nobody is connected.
class NoClients : public Outbox {
 public:
  void send(std::uint64_t, std::string, std::vector<SharedFd>) override {}
  [[nodiscard]] bool send_now(std::uint64_t, const std::string&) override { return false; }
  void drain(std::uint64_t) override {}
  void release(std::uint64_t) override {}
  void watch(const Life&, Pid) override {}
  void unwatch(const Life&) override {}
  [[nodiscard]] std::size_t client_count() const override { return 0; }
  [[nodiscard]] std::uint64_t dropped_clients() const override { return 0; }
};

class RestoreTest : public testing::Test {
 protected:
  static constexpr std::string_view kLost = R"("lost":true)";
  static constexpr shm::LinkContract kContract{128, 16, 1 << 16};

  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "beeline-restore-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    auto sockets = os::PacketSocket::pair();
    ASSERT_TRUE(sockets) << sockets.error().text;
    keeper_end_ = std::move(sockets->first);
    keeper_.emplace(std::move(sockets->second));
    auto state = StateFile::open(path_ + "/state.json");
    ASSERT_TRUE(state) << state.error().text;
    auto directory = DirectorySegment::create("restore", 1, 1 << 16);
    ASSERT_TRUE(directory) << directory.error().text;
    hive_.emplace(HiveFacts{}, *keeper_, outbox_, log_, std::move(*state), std::move(*directory));
    add_king(*hive_);
  }
  void TearDown() override {
    hive_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  static LifeRecord life_of(Pid pid, std::uint64_t incarnation) {
    LifeRecord record;
    record.pid = pid;
    record.incarnation = shm::Incarnation(incarnation);
    record.parent = kKingPid;
    record.name = "agent-" + std::to_string(pid);
    record.index = pid;
    record.ready = true;
    record.ended = true;
    return record;
  }
  KeptRecord& keep(const LifeRecord& record) {
    KeptRecord& kept = table_[agent_key(record.pid, record.incarnation)];
    kept.value = build(record);
    if (record.dead) return kept;
    // A process that has not ended, and eventfds for the others: nobody reads them here.
    kept.fds.resize(4);
    auto pidfd = os::open_pidfd(::getpid());
    EXPECT_TRUE(pidfd) << pidfd.error().text;
    if (pidfd) kept.fds[0] = std::move(*pidfd);
    for (std::size_t i = 1; i < kept.fds.size(); ++i) {
      auto fd = os::create_event_fd();
      EXPECT_TRUE(fd) << fd.error().text;
      if (fd) kept.fds[i] = std::move(*fd);
    }
    return kept;
  }
  static LifeRecord child_of(Pid parent, Pid pid, std::uint64_t incarnation) {
    LifeRecord record = life_of(pid, incarnation);
    record.parent = parent;
    return record;
  }
  // A life that has said `ready` and has ended since.
  void keep_life(Pid pid, std::uint64_t incarnation) { keep(life_of(pid, incarnation)); }
  void keep_living(Pid pid, std::uint64_t incarnation) {
    LifeRecord record = life_of(pid, incarnation);
    record.ended = false;
    keep(record);
  }
  void keep_link(shm::LinkKey key, Pid owner, Pid reader, bool faded) {
    auto fd = os::create_event_fd();
    ASSERT_TRUE(fd) << fd.error().text;
    LinkRecord record;
    record.key = key;
    record.owner = owner;
    record.reader = reader;
    record.contract = kContract;
    record.faded = faded;
    KeptRecord& kept = table_["link/" + std::to_string(key.incarnation.value()) + '/' +
                              std::to_string(key.serial)];
    kept.value = build(record);
    kept.fds.push_back(std::move(*fd));
  }
  // Opens a link as its owner does once it has found the new coordinator.
  Result<void> open_again(shm::LinkKey key, Pid owner, Pid reader) {
    const OpenRequest request{
        .to = reader, .serial = key.serial, .contract = kContract, .again = true};
    auto link = send::OutLink::create("restore", owner, reader, key, kContract);
    if (!link) return tl::unexpected(link.error());
    std::vector<os::UniqueFd> fds(1);
    auto fd = os::duplicate(link->memory().fd());
    if (!fd) return tl::unexpected(fd.error());
    fds[0] = std::move(*fd);
    Caller caller;
    caller.pid = owner;
    caller.incarnation = key.incarnation;
    return open_link(*hive_, caller, 1, request, std::move(fds));
  }
  void restore_hive() {
    keeper_->know(table_);
    restore(*hive_, std::move(table_));
  }
  [[nodiscard]] bool has_link(shm::LinkKey key) { return hive_->registry.link(key) != nullptr; }
  [[nodiscard]] bool is_logged(const std::string& part) {
    std::string text(kMostOfLog, '\0');
    const ssize_t length = ::pread(log_file_.get(), text.data(), text.size(), 0);
    EXPECT_GE(length, 0);
    return text.find(part) != std::string::npos;
  }
  // How many records to the keeper contain `part`, since the last call.
  [[nodiscard]] std::size_t said_to_keeper(std::string_view part = {}) {
    for (std::size_t count = 0;;) {
      const auto packet = keeper_end_.try_receive(kMaxPacketBytes);
      EXPECT_TRUE(packet);
      if (!packet || !*packet) return count;
      if ((*packet)->text.find(part) != std::string::npos) ++count;
    }
  }

  KeptTable table_;
  std::optional<KeeperClient> keeper_;
  std::optional<Hive> hive_;

 private:
  static constexpr std::size_t kMostOfLog = 1U << 20;

  std::string path_;
  os::PacketSocket keeper_end_;
  NoClients outbox_;
  os::UniqueFd log_file_{::memfd_create("log", MFD_CLOEXEC)};
  Log log_{log_file_.get()};
};

}  // namespace beeline::control
