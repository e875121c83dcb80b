#pragma once

// The orders under way to the writing thread, each with what follows its answer.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <beeline/message.h>
#include <beeline/result.h>

#include "src/buffer/order.h"
#include "src/buffer/writer.h"

namespace beeline::buffer {

// A message of the hive that was handed out to the buffer. `Message` is a row of the table here.
using Lease = beeline::Message;

// The name of its sender, for rows and logs; "pid N" if the registry has forgotten the sender.
[[nodiscard]] std::string sender_name(const Lease& lease);

class Orders {
 public:
  // Called with the answer, once the order is on the disk or has failed.
  using Then = std::function<void(Lease lease, Result<Answer> answer)>;

  // The writer outlives this object.
  explicit Orders(Writer& writer) : writer_(writer) {}

  // `lease` is kept until the answer comes.
  void give(Request request, Then then, Lease lease = {});
  // Takes the answers that are there.
  void hear();

  // False: take no messages before hear() has made room. `more` bytes were taken and not given yet.
  [[nodiscard]] bool has_room(std::size_t more = 0) const {
    return waiting_.empty() && bytes_ + more < kMostBytes;
  }
  [[nodiscard]] bool is_idle() const { return open_.empty(); }

 private:
  // Payloads under way: each is in memory until it is on the disk.
  static constexpr std::size_t kMostBytes = 64 << 20;
  struct Open {
    Then then;
    Lease lease;
    std::size_t bytes = 0;  // of its payload
  };
  void submit_waiting();

  Writer& writer_;
  // Answers come in the order of the orders.
  std::deque<Open> open_{};
  std::deque<std::unique_ptr<Order>> waiting_{};  // found no room
  std::size_t bytes_ = 0;
};

// The answer of an order of this kind. REQUIRES: the order did not fail.
template <typename Value>
[[nodiscard]] Value& answer_as(Result<Answer>& answer) {
  return std::get<Value>(*answer);
}

}  // namespace beeline::buffer
