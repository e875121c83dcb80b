// Two agents of a real hive, through the public interface: a writer and a reader. The fresh process
// attaches under their names.

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include <beeline/agent.h>

#include "src/control/client.h"
#include "tests/killpoints/neighbour/queue.h"

namespace beeline::killpoints {
namespace {

using namespace std::chrono_literals;

template <typename T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

class BeelineAgents : public Queue {
 public:
  explicit BeelineAgents(int worker)
      : writer_("writer-" + std::to_string(worker)), reader_("reader-" + std::to_string(worker)) {}

  // Agents are made in processes that end, because a process that forks must have none.
  void prepare(Trial& trial) override {
    payload_.resize(trial.length);
    part_ = trial.part;
    in_child(trial, [&] {
      { const Agent reader = attach(reader_); }
      Agent writer = attach(writer_);
      if (part_ == Part::kSend) return;
      for (std::uint32_t message = 0; message < kFresh; ++message) send(writer, trial, message);
    });
  }

  void open(Trial& trial) override {
    agent_.emplace(attach(part_ == Part::kSend ? writer_ : reader_));
    if (part_ == Part::kSend) peer_ = or_throw(agent_->peer(reader_));
    const std::uint32_t before = part_ == Part::kSend ? kSent : kReceived;
    for (std::uint32_t message = 0; message < before; ++message) {
      trial.write(payload_, message);
      operate(trial);
      if (!trial.returned) throw std::runtime_error("the first messages fail");
    }
    trial.write(payload_, kSent);
    trial.returned = false;
  }

  void operate(Trial& trial) override {
    if (part_ == Part::kSend) {
      trial.returned = static_cast<bool>(agent_->send(peer_, payload_));
      return;
    }
    auto message = agent_->try_receive();
    if (!message) return;
    trial.returned = true;
    message->done();
  }

  void use(Trial& trial) override {
    try {
      {
        trial.note("it attaches to send");
        Agent writer = attach(writer_);
        trial.note("it sends");
        send(writer, trial, kFresh);
      }
      trial.note("it attaches to receive");
      Agent reader = attach(reader_);
      trial.note("it receives");
      // Messages of one sender come in order, so nothing is left behind the last one.
      while (trial.received[kFresh] == 0) {
        Message message = or_throw(reader.receive());
        trial.note_received(message.payload(), message.redelivered());
        message.done();
      }
      trial.complete = true;
    } catch (const std::exception& error) {
      trial.note(error.what());
    }
  }

 private:
  static Agent attach(const std::string& name) {
    AttachOptions options;
    options.name = name;
    return or_throw(Agent::attach(options));
  }

  void send(Agent& writer, const Trial& trial, std::uint32_t message) {
    trial.write(payload_, message);
    const SendResult sent = writer.send(or_throw(writer.peer(reader_)), payload_);
    if (!sent) throw std::runtime_error("send: " + std::string(to_string(sent.status)));
  }

  template <typename Work>
  static void in_child(Trial& trial, Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        work();
      } catch (const std::exception& error) {
        trial.note(error.what());
      }
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }

  std::string writer_;
  std::string reader_;
  Part part_ = Part::kSend;
  std::vector<std::byte> payload_;
  std::optional<Agent> agent_;
  Peer peer_{};
};

}  // namespace

// No healthy process waits that long, however busy the machine is.
const Neighbour kBeelineAgents{"Beeline", 2, 60'000, [](int worker) -> std::unique_ptr<Queue> {
                                 return std::make_unique<BeelineAgents>(worker);
                               }};

KillpointsHive::KillpointsHive()
    : directory_((std::filesystem::temp_directory_path() / "beeline-killpoints-XXXXXX").string()) {
  if (::mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no directory for a hive");
  const std::string name = "killpoints-" + std::to_string(::getpid());
  ::setenv("BEELINE_DIR", directory_.c_str(), 1);
  ::setenv("BEELINE_HIVE", name.c_str(), 1);
}

KillpointsHive::~KillpointsHive() {
  control::ClientOptions options;
  options.start = false;
  if (auto client = control::Client::connect(options)) (void)client->down();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace beeline::killpoints
