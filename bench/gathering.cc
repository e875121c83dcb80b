#include "bench/gathering.h"

#include <utility>

#include "src/control/client.h"
#include "src/os/clock.h"
#include "src/os/process.h"

namespace beeline::bench {
namespace {

Result<Keepers> find_keepers() {
  control::ClientOptions options;
  options.start = false;
  auto client = control::Client::connect(options);
  if (!client) return tl::unexpected(client.error());
  const auto status = client->status();
  if (!status) return tl::unexpected(status.error());
  return Keepers{status->keeper_pid, status->coordinator_pid};
}

Result<void> play_lead(CrowdPage& page, const Case& what, std::size_t members,
                       const Gathering::Lead& first, const Gathering::Lead& then) {
  auto agent = attach_lead(what);
  if (!agent) return tl::unexpected(agent.error());
  make_step(page);
  std::vector<Peer> peers;
  while (peers.size() < members) {
    const auto hello = await_hello(*agent);
    if (!hello) return tl::unexpected(hello.error());
    const auto peer = agent->peer(*hello);
    if (!peer) return tl::unexpected(peer.error());
    peers.push_back(*peer);
    if (peers.size() == 1 && first) {
      if (auto done = first(page, *agent, peers); !done) return done;
    }
    make_step(page);
  }
  if (auto done = then(page, *agent, peers); !done) return done;
  return say_goodbye(*agent, peers);
}

}  // namespace

Result<Gathering> Gathering::start(const Case& what, std::size_t members, const Lead& first,
                                   const Lead& then) {
  if (auto raised = os::raise_fd_limit(); !raised) return tl::unexpected(raised.error());
  const std::int64_t begin = os::monotonic_ns();
  auto hive = cli::ScratchHive::start("bench");
  if (!hive) return tl::unexpected(hive.error());
  const std::int64_t hive_start_ns = os::monotonic_ns() - begin;
  auto keepers = find_keepers();
  if (!keepers) return tl::unexpected(keepers.error());
  auto crowd = Crowd::create();
  if (!crowd) return tl::unexpected(crowd.error());
  Gathering all(std::move(*hive), std::move(*crowd), what, members);
  all.keepers_ = *keepers;
  all.hive_start_ns_ = hive_start_ns;
  const auto lead = all.crowd_.start(
      [&](CrowdPage& page) { return play_lead(page, what, members, first, then); });
  if (!lead) return tl::unexpected(lead.error());
  if (auto made = all.crowd_.await_steps(1); !made) return tl::unexpected(made.error());
  return all;
}

Result<void> Gathering::add(const Hear& hear) {
  const std::size_t number = started_++;
  const auto started =
      crowd_.start([&](CrowdPage& page) { return play_member(page, number, what_, hear); });
  if (!started) return tl::unexpected(started.error());
  return crowd_.await_steps(static_cast<std::uint32_t>(started_ + 1));
}

Result<void> Gathering::add_all(const Hear& hear) {
  while (started_ < members_) {
    if (auto added = add(hear); !added) return added;
  }
  return {};
}

Result<void> Gathering::say_hello() {
  const std::uint32_t made = crowd_.page().steps.load();
  const auto started = crowd_.start(play_caller);
  if (!started) return tl::unexpected(started.error());
  return crowd_.await_steps(made + 1);
}

Result<void> Gathering::close() {
  if (auto finished = crowd_.finish(); !finished) return finished;
  return hive_.close();
}

}  // namespace beeline::bench
