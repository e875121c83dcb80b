#include "src/control/coordinator.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/control/king.h"
#include "src/control/records.h"
#include "src/control/restore.h"
#include "src/control/server.h"
#include "src/os/mapping.h"

namespace beeline::control {
namespace {

// The epoch that the directory of the last coordinator had reached, 0 if there was none.
std::uint64_t old_epoch(const KeptTable& table) {
  const auto found = table.find(std::string(kDirectoryKey));
  if (found == table.end() || found->second.fds.empty()) return 0;
  const auto mapping =
      os::Mapping::map_readable(found->second.fds[0].get(), shm::DirectoryLayout::kBytes);
  return mapping ? shm::DirectoryView(mapping->data()).epoch() : 0;
}

// Restores the hive and serves. Errors: the reason why it cannot.
Result<int> serve(HiveFacts facts, const CoordinatorOptions& options, os::PacketSocket listener,
                  KeeperClient& keeper, Log& log, KeptTable table) {
  keeper.know(table);
  auto server = Server::create(listener, keeper, log, {options.peer_pidfd});
  if (!server) return tl::unexpected(std::move(server.error()));
  const auto kept_pids = static_cast<Pid>(kept_number(table, kPidsKey));
  // The table of a keeper knows everything that the file does.
  auto state = StateFile::open(facts.paths.state, kept_pids, kept_pids != 0);
  if (!state) return tl::unexpected(std::move(state.error()));
  state->report(log);
  if (!state->broken().empty()) {
    log.warn("state_broken", "text=\"{} could not be parsed and is {} now: pids go on from {}{}\"",
             facts.paths.state, state->broken(), state->reserved(),
             kept_pids != 0 ? "" : ", and agents of an earlier keeper cannot come back");
  }
  const std::uint64_t epoch = std::max(state->epoch(), old_epoch(table) + 1);
  auto directory = DirectorySegment::create(facts.paths.hive, epoch, facts.max_payload_bytes);
  if (!directory) return tl::unexpected(std::move(directory.error()));
  auto directory_fd = os::duplicate(directory->fd());
  if (!directory_fd) return tl::unexpected(std::move(directory_fd.error()));

  Hive hive(std::move(facts), keeper, **server, log, std::move(*state), std::move(*directory));
  hive.kept_pids = hive.state.reserved();
  if (auto kept = keeper.keep(kPidsKey, build_number(hive.kept_pids), {}); !kept) {
    return tl::unexpected(std::move(kept.error()));
  }
  hive.state.make_optional();
  hive.looks.after_ns = options.forget_empty_after_ns;
  hive.directory_fd = share(std::move(*directory_fd));
  add_king(hive);
  restore(hive, std::move(table));
  const int fd = hive.directory_fd->get();
  if (auto kept = keeper.keep(kDirectoryKey, fmt::format("{{\"epoch\":{}}}", epoch), {&fd, 1});
      !kept) {
    return tl::unexpected(std::move(kept.error()));
  }
  keeper.say(kServingVerb);
  log.info("serving", "hive={} epoch={} restarts={}", hive.facts.paths.hive, epoch,
           hive.facts.restarts);
  return (*server)->run(hive);
}

}  // namespace

int run_coordinator(HiveFacts facts, const CoordinatorOptions& options, os::PacketSocket listener,
                    os::PacketSocket keeper_socket, KeptTable table) {
  Log log(options.log_fd, options.log_path);
  KeeperClient keeper(std::move(keeper_socket));
  std::string reason;
  try {
    const auto served =
        serve(std::move(facts), options, std::move(listener), keeper, log, std::move(table));
    if (served) return *served;
    reason = served.error().text;
  } catch (const std::exception& error) {
    reason = error.what();
  }
  log.warn("coordinator_failed", "text={}", in_quotes(reason));
  keeper.say(kFailedVerb + reason);
  return 1;
}

}  // namespace beeline::control
