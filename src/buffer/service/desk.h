#pragma once

// Takes the messages of the hive: puts, and requests of the type buffer.*. A put is held until it
// is on the disk.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <beeline/agent.h>

#include "src/buffer/config.h"
#include "src/buffer/queries.h"
#include "src/buffer/service/again.h"
#include "src/buffer/service/chores.h"
#include "src/buffer/service/claims.h"
#include "src/buffer/service/orders.h"
#include "src/buffer/service/post.h"
#include "src/buffer/service/request.h"
#include "src/buffer/service/ticker.h"
#include "src/buffer/writer.h"

namespace beeline::buffer {

class Desk {
 public:
  struct Parts {
    Orders& orders;
    Post& post;
    Again& again;
    Claims& claims;
    Ticker& ticker;
    Chores& chores;
    Queries& queries;
    const Writer& writer;
    const Config& config;
  };
  struct Facts {
    Pid self = 0;
    std::string hive_start{};  // of this agent in this hive: ids of messages are unique in it
    std::string database{};
  };
  Desk(const Parts& parts, Facts facts) : parts_(parts), facts_(std::move(facts)) {}
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  // The next life gets the messages that are held.
  ~Desk();

  void take(Lease lease);
  // So many messages are open, more than the threshold; 0: nothing is to be said.
  void note_crossing(std::uint64_t open);
  // True once an agent above has told the buffer to end.
  [[nodiscard]] bool is_told_to_end() const { return is_told_to_end_; }

 private:
  void take_order(Lease lease);
  void put_message(Lease lease);
  void hear_message_put(Lease lease, Result<Answer> answer);
  void hear_put(Lease lease, Result<Answer> answer);
  void note_put(const PutAnswer& answer);
  void put_held();
  [[nodiscard]] Put draft_of(const Lease& lease) const;

  // One for each kind of request.
  void on(PutRequest& request, Lease lease);
  void on(const NextRequest& request, Lease lease);
  void on(const TakeRequest& request, Lease lease);
  void on(const AckRequest& request, Lease lease);
  void on(const GiveBackRequest& request, Lease lease);
  void on(const StatusRequest& request, Lease lease);
  void on(const ListRequest& request, Lease lease);
  void on(const ShowRequest& request, Lease lease);
  void on(const PruneRequest& request, Lease lease);
  void on(const JobRequest& request, Lease lease);
  void on(const CancelJobRequest& request, Lease lease);
  void answer(Lease lease, const Result<std::string>& text);

  Parts parts_;
  Facts facts_;
  // Messages that could not be written, and whose senders asked for no word.
  std::vector<Lease> held_{};
  bool is_told_to_end_ = false;
};

}  // namespace beeline::buffer
