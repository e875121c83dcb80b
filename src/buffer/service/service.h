#pragma once

// The buffer at work: one thread that waits for messages, for the writing thread and for the time,
// and for the coordinator where an answer needs a new link.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <beeline/agent.h>
#include <beeline/result.h>

#include "src/buffer/config.h"
#include "src/buffer/service/again.h"
#include "src/buffer/service/alarms.h"
#include "src/buffer/service/chores.h"
#include "src/buffer/service/claims.h"
#include "src/buffer/service/desk.h"
#include "src/buffer/service/orders.h"
#include "src/buffer/service/post.h"
#include "src/buffer/service/runs.h"
#include "src/buffer/service/store.h"
#include "src/buffer/service/ticker.h"
#include "src/buffer/writer.h"

namespace beeline::buffer {

// How the agent of a buffer attaches; hive and name are to be set.
[[nodiscard]] AttachOptions buffer_attach_options();

class Service {
 public:
  // `stop_fd` is readable once the service is to end; it stays the caller's. Errors: kSystem (no
  // thread), those of the registry and the database.
  [[nodiscard]] static Result<std::unique_ptr<Service>> start(Agent agent, Store store,
                                                              int stop_fd);

  enum class End : std::uint8_t { kStopped, kHiveDown };
  // Works until the end, and until everything that was taken is on the disk.
  [[nodiscard]] End run();

 private:
  Service(Agent agent, Store store, std::unique_ptr<Writer> writer, Config config,
          std::string hive_start, int stop_fd);
  [[nodiscard]] Result<void> recover();
  // Takes messages that wait, without handling them. True if there were any.
  [[nodiscard]] bool take_messages();
  void handle_taken();
  void take_late_answers();
  void hear_alarms();
  [[nodiscard]] bool has_shut_down();
  void begin_end();
  [[nodiscard]] bool is_over() const;
  // Waits for events until this time at most.
  void wait(Deadline agent_wants);

  Agent agent_;
  Store store_;
  Config config_;
  std::unique_ptr<Writer> writer_;
  int stop_fd_;
  Alarms alarms_{};
  Again again_;
  Orders orders_;
  Post post_;
  Claims claims_;
  Ticker ticker_;
  Runs runs_;
  Chores chores_;
  Desk desk_;
  std::vector<Lease> taken_{};
  bool has_answers_ = true;  // of the writer
  bool is_stopping_ = false;
  Deadline end_patience_{};  // for answers that find no room
};

}  // namespace beeline::buffer
