#include "src/receive/owner_watch.h"

namespace beeline::receive {

void OwnerWatch::place(InLink& link) {
  link.is_among_ended = link.owner_gone;
  std::vector<InLink*>& list = link.is_among_ended ? ended_ : living_;
  link.watch_place = list.size();
  list.push_back(&link);
  call(link);
}

void OwnerWatch::displace(InLink& link) {
  std::vector<InLink*>& list = link.is_among_ended ? ended_ : living_;
  list[link.watch_place] = list.back();
  list[link.watch_place]->watch_place = link.watch_place;
  list.pop_back();
}

void OwnerWatch::add(InLink& link) { place(link); }

void OwnerWatch::remove(InLink& link) {
  displace(link);
  if (!link.is_called) return;
  called_[link.called_place] = called_.back();
  called_[link.called_place]->called_place = link.called_place;
  called_.pop_back();
  link.is_called = false;
}

void OwnerWatch::sort(InLink& link) {
  if (link.owner_gone == link.is_among_ended) return;
  displace(link);
  place(link);
}

void OwnerWatch::call_now(InLink& link) {
  link.is_called = true;
  link.called_place = called_.size();
  called_.push_back(&link);
}

InLink* OwnerWatch::next_called() {
  if (called_.empty()) return nullptr;
  InLink* link = called_.back();
  called_.pop_back();
  link->is_called = false;
  return link;
}

InLink* OwnerWatch::next_ended() {
  if (ended_.empty()) return nullptr;
  turn_ = turn_ + 1 < ended_.size() ? turn_ + 1 : 0;
  return ended_[turn_];
}

}  // namespace beeline::receive
