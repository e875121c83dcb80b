// An agent around a buffer, which the tests kill. Usage: buffer-actor MODE NAME [LEDGER]
//   hold   asks for a batch, prints "BATCH REDELIVERED" and keeps it
//   main   asks for batches, writes "ROW AGAIN" of each message to the ledger, and ends them
//   put    puts messages as fast as it can, and writes the payload of each one that is on the disk

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <beeline/agent.h>

namespace {

using beeline::Agent;
using nlohmann::json;

// A line is shorter than PIPE_BUF, and written whole or not at all.
class Ledger {
 public:
  explicit Ledger(const char* path)
      : fd_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  void note(const std::string& lines) const {
    if (::write(fd_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
      std::abort();
    }
  }

 private:
  int fd_;
};

beeline::Message next_batch(Agent& agent) {
  beeline::ReceiveOptions only;
  only.filter.type = "buffer.batch";
  auto message = agent.receive(only);
  if (!message) std::exit(3);
  return std::move(*message);
}

void ask_for_batch(Agent& agent) {
  beeline::SendOptions options;
  options.type = "buffer.next";
  options.inherit = false;
  (void)agent.send_until("buffer", "", beeline::after(std::chrono::minutes(1)), options);
}

int hold(Agent& agent) {
  ask_for_batch(agent);
  const beeline::Message message = next_batch(agent);
  const json batch = json::parse(message.text());
  std::printf("%s %s\n", batch["id"].dump().c_str(), batch["redelivered"].dump().c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}

int serve(Agent& agent, const Ledger& ledger) {
  ask_for_batch(agent);
  for (;;) {
    beeline::Message message = next_batch(agent);
    const json batch = json::parse(message.text());
    const bool is_again = message.redelivered() || batch["redelivered"].get<bool>();
    std::string lines;
    for (const json& row : batch["messages"]) {
      lines += fmt::format("{} {}\n", row["id"].get<std::int64_t>(), is_again ? 1 : 0);
    }
    ledger.note(lines);
    message.done();
    ask_for_batch(agent);
  }
}

// Requests with a key, requests without one, and plain messages in turn.
bool put(Agent& agent, int turn, const std::string& payload) {
  const auto deadline = beeline::after(std::chrono::minutes(1));
  beeline::SendOptions options;
  if (turn % 3 == 0) {
    options.channel = "plain";
    const auto word = agent.send_acked("buffer", payload, deadline, options);
    return word && word->status == beeline::AckStatus::kAccepted;
  }
  json request{{"channel", turn % 4 == 1 ? "job" : "c"},
               {"conversation", fmt::format("v{}", turn % 5)}};
  request["payload"] = payload;
  if (turn % 3 == 1) request["key"] = payload;
  options.type = "buffer.put";
  const auto answer = agent.request("buffer", request.dump(), deadline, options);
  return answer && json::parse(answer->text()).contains("id");
}

int put_all(Agent& agent, const Ledger& ledger) {
  for (int turn = 0;; ++turn) {
    const std::string payload = fmt::format("{}-{}-{}", agent.name(), ::getpid(), turn);
    if (put(agent, turn, payload)) ledger.note(payload + '\n');
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view mode = argv[1];
  beeline::AttachOptions options;
  options.name = argv[2];
  options.start_coordinator = false;
  options.temporary = mode == "hold" && argc > 3;
  auto agent = Agent::attach(options);
  if (!agent) {
    std::fprintf(stderr, "%s\n", agent.error().text.c_str());
    return 1;
  }
  if (!agent->wait_for("buffer", beeline::after(std::chrono::minutes(1)))) return 1;
  if (mode == "hold") return hold(*agent);
  const Ledger ledger(argv[3]);
  return mode == "main" ? serve(*agent, ledger) : put_all(*agent, ledger);
}
