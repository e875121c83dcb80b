#include "src/c/message_pool.h"

#include <memory>

namespace beeline::c {

beeline_message* MessagePool::make() {
  auto handle = std::make_unique<beeline_message>();
  handle->agent = &agent_;
  handle->place = all_.size();
  all_.push_back(handle.get());
  return handle.release();
}

void MessagePool::give_back_fully(beeline_message* handle) {
  handle->message = Message();
  if (free_count_ == kMostFree) {
    drop(handle);
  } else {
    push(handle);
  }
}

void MessagePool::drop(beeline_message* handle) {
  all_[handle->place] = all_.back();
  all_[handle->place]->place = handle->place;
  all_.pop_back();
  delete handle;
}

void MessagePool::end() {
  for (beeline_message* handle : all_) {
    if (handle->is_free) {
      delete handle;
      continue;
    }
    handle->message = Message();
    handle->agent = nullptr;
  }
  all_.clear();
  free_ = nullptr;
  free_count_ = 0;
}

}  // namespace beeline::c
