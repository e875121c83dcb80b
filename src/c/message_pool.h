#pragma once

#include <cstddef>
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

  // A handle without a message. Throws std::bad_alloc.
  [[nodiscard]] beeline_message* take() {
    beeline_message* const handle = free_;
    if (handle == nullptr) [[unlikely]]
      return make();
    free_ = handle->next_free;
    --free_count_;
    handle->is_free = false;
    return handle;
  }
  // The message, if it still holds one, is let go.
  void give_back(beeline_message* handle) {
    if (handle->message.valid()) [[unlikely]]
      handle->message = Message();
    if (free_count_ == kMostFree) [[unlikely]]
      return drop(handle);
    handle->is_free = true;
    handle->next_free = free_;
    free_ = handle;
    ++free_count_;
  }
  [[nodiscard]] beeline_message* hold(Message message) {
    beeline_message* const handle = take();
    handle->message = std::move(message);
    return handle;
  }
  // The agent is closed: lets all messages go. Handles that the caller has live on without it.
  void end();

 private:
  static constexpr std::size_t kMostFree = 1024;
  beeline_message* make();
  void drop(beeline_message* handle);

  beeline_agent& agent_;
  beeline_message* free_ = nullptr;
  std::size_t free_count_ = 0;
  std::vector<beeline_message*> all_{};
};

}  // namespace beeline::c
