#pragma once

// The ticks of the router: one window after the first message that is unrouted, and none while
// nothing is.

#include <chrono>
#include <functional>
#include <utility>

#include "src/buffer/service/again.h"
#include "src/buffer/service/alarms.h"
#include "src/buffer/service/orders.h"

namespace beeline::buffer {

class Ticker {
 public:
  struct Parts {
    Orders& orders;
    Alarms& alarms;
    Again& again;
  };
  struct Events {
    std::function<void()> batches{};  // some are new, or have grown
    std::function<void()> tasks{};
  };
  Ticker(const Parts& parts, Events events, std::chrono::milliseconds window)
      : parts_(parts), events_(std::move(events)), window_(window) {}

  // A message was written.
  void hear_unrouted();
  // Routes what is there.
  void tick();

 private:
  void hear_routed(Result<Answer> answer);

  Parts parts_;
  Events events_;
  std::chrono::milliseconds window_;
  bool is_routing_ = false;
};

}  // namespace beeline::buffer
