#include "src/receive/owner_watch.h"

namespace beeline::receive {

void OwnerWatch::place(InLink& link) {
  link.watched().is_among_ended = link.owner_gone();
  std::vector<InLink*>& list = link.watched().is_among_ended ? ended_ : living_;
  link.watched().in_list = list.size();
  list.push_back(&link);
  call(link);
}

void OwnerWatch::displace(InLink& link) {
  std::vector<InLink*>& list = link.watched().is_among_ended ? ended_ : living_;
  list[link.watched().in_list] = list.back();
  list[link.watched().in_list]->watched().in_list = link.watched().in_list;
  list.pop_back();
}

void OwnerWatch::add(InLink& link) { place(link); }

void OwnerWatch::remove(InLink& link) {
  displace(link);
  if (!link.watched().is_called) return;
  called_[link.watched().among_called] = called_.back();
  called_[link.watched().among_called]->watched().among_called = link.watched().among_called;
  called_.pop_back();
  link.watched().is_called = false;
}

void OwnerWatch::sort(InLink& link) {
  if (link.owner_gone() == link.watched().is_among_ended) return;
  displace(link);
  place(link);
}

void OwnerWatch::call_now(InLink& link) {
  link.watched().is_called = true;
  link.watched().among_called = called_.size();
  called_.push_back(&link);
}

InLink* OwnerWatch::next_called() {
  if (called_.empty()) return nullptr;
  InLink* link = called_.back();
  called_.pop_back();
  link->watched().is_called = false;
  return link;
}

InLink* OwnerWatch::next_ended() {
  if (ended_.empty()) return nullptr;
  turn_ = turn_ + 1 < ended_.size() ? turn_ + 1 : 0;
  return ended_[turn_];
}

}  // namespace beeline::receive
