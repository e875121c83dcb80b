#pragma once

// Agents that want batches. A credit (buffer.next) gets its batch as a message, a take
// (buffer.take) as the answer. The oldest claim is served first.
//
// The message of a credit is held until its batches were sent, so that the claim survives a kill of
// the buffer.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <beeline/agent.h>

#include "src/buffer/batch.h"
#include "src/buffer/service/again.h"
#include "src/buffer/service/alarms.h"
#include "src/buffer/service/orders.h"
#include "src/buffer/service/post.h"

namespace beeline::buffer {

class Claims {
 public:
  struct Parts {
    Agent& agent;
    Orders& orders;
    Post& post;
    Alarms& alarms;
    Again& again;
  };
  explicit Claims(const Parts& parts) : parts_(parts) {}
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;
  // The next life gets the claims.
  ~Claims();

  void add_credits(Lease lease, std::uint32_t count);
  void add_take(Lease lease, std::chrono::milliseconds timeout);
  // A batch may wait now.
  void look();
  // Ends the takes whose time is over.
  void hear_takes_over();
  // True if the message ends a batch that its holder had taken over (AckStatus::kQueued).
  [[nodiscard]] bool end_taken_over(const Lease& lease);
  // Puts a batch back to its place.
  void give_back(BatchId batch);

 private:
  struct Claim {
    Lease lease;
    Pid pid = 0;
    std::string holder{};
    bool is_take = false;
    std::int64_t until_ns = 0;  // of a take
    std::uint32_t wanted = 0;   // batches
    std::uint32_t asked = 0;    // orders under way
    std::uint32_t sending = 0;  // batches that wait for a link or for room
  };
  struct TakenOver {
    BatchId batch = 0;
    Pid pid = 0;  // of the holder
  };
  using Number = std::uint64_t;

  void add(Claim claim);
  [[nodiscard]] std::map<Number, Claim>::iterator next_claim();
  void ask(Number number);
  void hear_batch(Number number, Result<Answer> answer);
  void hand_out(Number number, Claim& claim, Batch batch);
  void deliver(Number number, Claim& claim, const Batch& batch);
  void hear_sent(Number number);
  void hear_not_sent(Number number, BatchId batch, const Error& error);
  void hear_word(MessageId message, BatchId batch, Pid to, const std::string& holder,
                 const Result<Acknowledgement>& word);
  void look_after_taken_over();
  void end_batch(BatchId batch);
  void drop_claims(Pid pid);
  void end_take(std::map<Number, Claim>::iterator take);
  void set_alarm();

  Parts parts_;
  std::map<Number, Claim> claims_{};
  std::map<MessageId, TakenOver> taken_over_{};
  Number last_ = 0;
  std::uint32_t asked_ = 0;  // orders under way
  bool may_have_ = false;    // a batch waits, as far as we know
};

}  // namespace beeline::buffer
