#pragma once
// The state of a coordinator without its process: packets go in by hand, its answers go nowhere,
// and its keeper is a socket that nobody reads.

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shm/home.h"
#include "shm/status.h"
#include "src/control/king.h"
#include "src/control/operations.h"
#include "src/os/pid_fd.h"
#include "src/segment/owned.h"

namespace beeline::test {

// Drops everything that the coordinator sends.
class DeafOutbox : public control::Outbox {
 public:
  void send(std::uint64_t /*session*/, std::string /*text*/,
            std::vector<control::SharedFd> /*fds*/) override {}
  [[nodiscard]] bool send_now(std::uint64_t /*session*/, const std::string& /*text*/) override {
    return true;
  }
  void drain(std::uint64_t /*session*/) override {}
  void release(std::uint64_t /*session*/) override {}
  void watch(const control::Life& /*life*/, control::Pid /*pid*/) override {}
  void unwatch(const control::Life& /*life*/) override {}
  [[nodiscard]] std::size_t client_count() const override { return 0; }
  [[nodiscard]] std::uint64_t dropped_clients() const override { return 0; }
};

class BareHive {
 public:
  // A hive that has only the coordinator. `outbox` must outlive it. Errors: kSystem, kNoMemory.
  [[nodiscard]] static Result<std::unique_ptr<BareHive>> make(control::Outbox& outbox,
                                                              std::uint64_t max_payload_bytes) {
    static const Folder folder;
    auto ends = os::PacketSocket::pair();
    if (!ends) return tl::unexpected(ends.error());
    auto state = control::StateFile::open(folder.fresh());
    if (!state) return tl::unexpected(state.error());
    auto directory = control::DirectorySegment::create("bare", kEpoch, max_payload_bytes);
    if (!directory) return tl::unexpected(directory.error());
    auto directory_fd = os::duplicate(directory->fd());
    if (!directory_fd) return tl::unexpected(directory_fd.error());
    std::unique_ptr<BareHive> made(new BareHive(std::move(ends->first), std::move(ends->second)));
    control::Hive& hive = made->hive_.emplace(control::HiveFacts{}, made->keeper_, outbox,
                                              made->log_, std::move(*state), std::move(*directory));
    hive.directory_fd = control::share(std::move(*directory_fd));
    hive.facts.max_payload_bytes = max_payload_bytes;
    control::add_king(hive);
    return made;
  }

  [[nodiscard]] control::Hive& hive() { return *hive_; }

  // A connection of this process.
  [[nodiscard]] Result<control::Caller> connect() {
    auto self = os::open_pidfd(::getpid());
    if (!self) return tl::unexpected(self.error());
    control::Caller caller;
    caller.session = ++sessions_;
    caller.uid = ::getuid();
    caller.os_pid = ::getpid();
    caller.pidfd = control::share(std::move(*self));
    return caller;
  }

  // Hands in a packet. Empties the keeper's socket, because nobody else reads it.
  Result<void> say(control::Caller& caller, const std::string& text,
                   std::vector<os::UniqueFd> fds) {
    auto done = control::handle_packet(*hive_, caller, {text, std::move(fds)});
    forget_records();
    return done;
  }
  void forget_records() {
    for (auto packet = keepers_.try_receive(control::kMaxPacketBytes); packet && *packet;) {
      packet = keepers_.try_receive(control::kMaxPacketBytes);
    }
  }

  // Writes the log there from now on; before, there is none.
  void log_into(int fd) { log_ = control::Log(fd); }

  // From now on nothing can be kept.
  void lose_keeper() { keepers_ = os::PacketSocket(); }

  // Null if this life is over.
  [[nodiscard]] control::Life* life_of(const control::Caller& caller) {
    const control::Agent* agent = hive_->registry.agent(caller.pid);
    return agent == nullptr ? nullptr : agent->life(caller.incarnation);
  }

 private:
  static constexpr std::uint64_t kEpoch = 70;

  // The folder for the state files of all these hives, one after the other.
  class Folder {
   public:
    Folder() : path_((std::filesystem::temp_directory_path() / "beeline-bare-XXXXXX").string()) {
      if (::mkdtemp(path_.data()) == nullptr) std::abort();
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string fresh() const {
      std::filesystem::remove(path_ + "/state");
      return path_ + "/state";
    }

   private:
    std::string path_;
  };

  BareHive(os::PacketSocket ours, os::PacketSocket keepers)
      : keeper_(std::move(ours)), keepers_(std::move(keepers)) {}

  control::KeeperClient keeper_;
  os::PacketSocket keepers_;
  control::Log log_{-1};
  std::optional<control::Hive> hive_;
  std::uint64_t sessions_ = 0;
};

}  // namespace beeline::test
