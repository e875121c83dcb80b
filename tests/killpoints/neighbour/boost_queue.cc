// Boost.Interprocess message_queue: a queue of messages in named shared memory under one mutex.

#include <unistd.h>

#include <boost/interprocess/ipc/message_queue.hpp>

#include <optional>
#include <vector>

#include "tests/killpoints/neighbour/queue.h"

namespace beeline::killpoints {
namespace {

namespace ipc = boost::interprocess;

class BoostQueue : public Queue {
 public:
  explicit BoostQueue(int worker)
      : name_("beeline-neighbour-" + std::to_string(::getppid()) + "-" + std::to_string(worker)) {}
  ~BoostQueue() override { ipc::message_queue::remove(name_.c_str()); }

  void prepare(Trial& trial) override {
    ipc::message_queue::remove(name_.c_str());
    ipc::message_queue queue(ipc::create_only, name_.c_str(), 2 * kMessages, trial.length);
    payload_.resize(trial.length);
    part_ = trial.part;
    if (part_ == Part::kSend) return;
    for (std::uint32_t message = 0; message < kFresh; ++message) send(queue, trial, message);
  }

  void open(Trial& trial) override {
    queue_.emplace(ipc::open_only, name_.c_str());
    const std::uint32_t before = part_ == Part::kSend ? kSent : kReceived;
    for (std::uint32_t message = 0; message < before; ++message) {
      trial.write(payload_, message);
      operate(trial);
    }
    trial.write(payload_, kSent);
    trial.returned = false;
  }

  void operate(Trial& trial) override {
    ipc::message_queue::size_type length = 0;
    unsigned priority = 0;
    if (part_ == Part::kSend) {
      queue_->send(payload_.data(), payload_.size(), 0);
    } else {
      queue_->receive(payload_.data(), payload_.size(), length, priority);
    }
    trial.returned = true;
  }

  void use(Trial& trial) override {
    try {
      ipc::message_queue queue(ipc::open_only, name_.c_str());
      trial.note("it sends");
      send(queue, trial, kFresh);
      trial.note("it receives");
      ipc::message_queue::size_type length = 0;
      unsigned priority = 0;
      while (queue.try_receive(payload_.data(), payload_.size(), length, priority)) {
        trial.note_received(std::span(payload_).first(length), false);
      }
      trial.complete = trial.received[kFresh] != 0;
    } catch (const std::exception& error) {
      trial.note(error.what());
    }
  }

 private:
  void send(ipc::message_queue& queue, const Trial& trial, std::uint32_t message) {
    trial.write(payload_, message);
    if (!queue.try_send(payload_.data(), payload_.size(), 0)) throw std::runtime_error("full");
  }

  std::string name_;
  Part part_ = Part::kSend;
  std::vector<std::byte> payload_;
  std::optional<ipc::message_queue> queue_;
};

}  // namespace

// It needs no other process and takes less than 1 ms. Nobody unlocks the mutex of a dead process.
// Many trials at once, because a process that waits for it takes no CPU.
const Neighbour kBoostQueue{
    "Boost message_queue", 64, 1'000,
    [](int worker) -> std::unique_ptr<Queue> { return std::make_unique<BoostQueue>(worker); }};

}  // namespace beeline::killpoints
