// Two agents of one process: one sends, the other receives and finishes, in C++ or by the C
// interface. Run under callgrind, which counts the cost of the functions below. Prints how many
// messages one call handles. With the argument `history` the hive records headers meanwhile.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/agent.h>
#include <beeline/c.h>

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

[[gnu::noinline]] bool budget_c_send(beeline_agent* from, beeline_peer to, std::string_view text) {
  for (int i = 0; i < kBatch; ++i) {
    if (beeline_send(from, to, text.data(), text.size(), 0, nullptr, nullptr) != BEELINE_OK) {
      return false;
    }
  }
  return true;
}

[[gnu::noinline]] bool budget_c_receive(beeline_agent* at, std::vector<beeline_message*>& taken) {
  for (int i = 0; i < kBatch; ++i) {
    beeline_message* message = nullptr;
    if (beeline_receive(at, 0, nullptr, &message) != BEELINE_OK) return false;
    taken.push_back(message);
  }
  return true;
}

[[gnu::noinline]] std::size_t budget_c_payload(const std::vector<beeline_message*>& taken) {
  std::size_t sum = 0;
  for (const beeline_message* message : taken) {
    std::size_t length = 0;
    (void)beeline_message_payload(message, &length);
    sum += length;
  }
  return sum;
}

[[gnu::noinline]] void budget_c_done(std::vector<beeline_message*>& taken) {
  for (auto message = taken.rbegin(); message != taken.rend(); ++message) {
    beeline_message_done(*message, nullptr, 0);
  }
}

[[gnu::noinline]] void budget_c_free(std::vector<beeline_message*>& taken) {
  for (auto message = taken.rbegin(); message != taken.rend(); ++message) {
    beeline_message_free(*message);
  }
}
}

namespace {

beeline_agent* attach_c(const char* name, const char* parent) {
  beeline_attach_options options;
  beeline_attach_options_init(&options);
  options.start_coordinator = false;
  options.temporary = true;
  options.name = name;
  options.parent = parent;
  beeline_agent* agent = nullptr;
  (void)beeline_attach(&options, &agent);
  return agent;
}

// Null, or why it failed.
const char* pump_c(const std::string& text) {
  beeline_agent* const from = attach_c("c-from", nullptr);
  beeline_agent* const to = attach_c("c-to", "c-from");
  beeline_peer peer{};
  if (from == nullptr || to == nullptr) return beeline_error_text();
  if (beeline_find_peer(from, "c-to", BEELINE_TEXT, &peer) != BEELINE_OK) {
    return beeline_error_text();
  }
  std::vector<beeline_message*> taken;
  taken.reserve(kBatch);
  for (int round = 0; round < kRounds; ++round) {
    if (!budget_c_send(from, peer, text)) return "a message was not sent from C";
    if (!budget_c_receive(to, taken)) return "a message was not received in C";
    if (budget_c_payload(taken) != kBatch * text.size()) return "a message was not read in C";
    budget_c_done(taken);
    budget_c_free(taken);
    taken.clear();
  }
  beeline_close(to);
  beeline_close(from);
  return nullptr;
}

}  // namespace

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
  if (const char* const why = pump_c(std::string(64, 'b'))) return failed(why);
  std::printf("%d\n", kBatch);
  const auto closed = hive->close();
  return closed ? 0 : failed(closed.error().text);
}
