#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <beeline/message.h>

#include "src/c/message_handle.h"

namespace beeline::c {

// The message handles of an agent, those that wait for their next use among them, so that a message
// takes no memory from the system.
class MessagePool {
 public:
  explicit MessagePool(beeline_agent& agent) : agent_(agent) {}
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;
  ~MessagePool() { end(); }

  // Makes sure that the next take() or hold() does not throw. Throws std::bad_alloc.
  void prepare() {
    if (free_ == nullptr) [[unlikely]]
      push(make());
  }
  // A handle without a message. Throws std::bad_alloc.
  [[nodiscard]] beeline_message* take() {
    prepare();
    beeline_message* const handle = free_;
    free_ = handle->next_free;
    handle->is_free = false;
    --free_count_;
    return handle;
  }
  [[nodiscard]] beeline_message* hold(Message&& message) {
    beeline_message* const handle = take();
    std::construct_at(&handle->message, std::move(message));  // over one that has ended
    return handle;
  }
  // The message, if it still holds one, is let go.
  void give_back(beeline_message* handle) {
    if (handle->message.valid() || free_count_ == kMostFree) [[unlikely]]
      return give_back_fully(handle);
    push(handle);
  }
  // The agent is closed: lets all messages go. Handles that the caller has live on without it.
  void end();

 private:
  static constexpr std::size_t kMostFree = 1024;
  void push(beeline_message* handle) {
    handle->is_free = true;
    handle->next_free = free_;
    free_ = handle;
    ++free_count_;
  }
  beeline_message* make();
  void give_back_fully(beeline_message* handle);
  void drop(beeline_message* handle);

  beeline_agent& agent_;
  beeline_message* free_ = nullptr;
  std::size_t free_count_ = 0;
  std::vector<beeline_message*> all_{};
};

}  // namespace beeline::c
