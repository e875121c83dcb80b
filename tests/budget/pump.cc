// Two agents of one process: one sends, the other receives and finishes. Run under callgrind, which
// counts the cost of the three functions below. Prints how many messages one call handles. With the
// argument `history` the hive records headers meanwhile.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/agent.h>

#include "shm/directory.h"
#include "src/control/history_client.h"
#include "tools/beeline/scratch_hive.h"

namespace {

constexpr int kRounds = 40;
constexpr int kBatch = 8;  // the figures in docs/performance.md are for batches of this size

int failed(const std::string& why) {
  std::fprintf(stderr, "budget-pump: %s\n", why.c_str());
  return 1;
}

bool record_headers() {
  auto client = beeline::control::Client::connect();
  const auto level = static_cast<std::int32_t>(beeline::shm::HistoryLevel::kHeaders);
  return client && beeline::control::ask_history(*client, level);
}

}  // namespace

// The output of callgrind has these names.
extern "C" {

[[gnu::noinline]] bool budget_send(beeline::Agent& from, beeline::Peer to, std::string_view text) {
  for (int i = 0; i < kBatch; ++i) {
    if (!from.send(to, text)) return false;
  }
  return true;
}

[[gnu::noinline]] bool budget_receive(beeline::Agent& at, std::vector<beeline::Message>& taken) {
  for (int i = 0; i < kBatch; ++i) {
    auto message = at.receive();
    if (!message) return false;
    taken.push_back(std::move(*message));
  }
  return true;
}

[[gnu::noinline]] void budget_done(std::vector<beeline::Message>& taken) {
  for (auto message = taken.rbegin(); message != taken.rend(); ++message) message->done();
}
}

int main(int argc, char** argv) {
  auto hive = beeline::cli::ScratchHive::start("budget");
  if (!hive) return failed(hive.error().text);
  const bool records = argc == 2 && std::string_view(argv[1]) == "history";
  if (records && !record_headers()) return failed("the history cannot be switched on");
  {
    beeline::AttachOptions options;
    options.start_coordinator = false;
    options.temporary = true;
    options.name = "from";
    auto from = beeline::Agent::attach(options);
    if (!from) return failed(from.error().text);
    options.name = "to";
    options.parent = "from";
    auto to = beeline::Agent::attach(options);
    if (!to) return failed(to.error().text);
    const auto peer = from->peer("to");
    if (!peer) return failed(peer.error().text);
    const std::string text(64, 'b');
    std::vector<beeline::Message> taken;
    taken.reserve(kBatch);
    for (int round = 0; round < kRounds; ++round) {
      if (!budget_send(*from, *peer, text)) return failed("a message was not sent");
      if (!budget_receive(*to, taken)) return failed("a message was not received");
      budget_done(taken);
      taken.clear();
    }
  }
  std::printf("%d\n", kBatch);
  const auto closed = hive->close();
  return closed ? 0 : failed(closed.error().text);
}
