#include "src/c/dependents.h"

namespace beeline::c {

Dependent::Dependent(Dependents& owner) : owner_(&owner), next_(owner.first_) {
  if (next_ != nullptr) next_->previous_ = this;
  owner.first_ = this;
}

Dependent::~Dependent() {
  if (owner_ != nullptr) owner_->remove(*this);
}

void Dependents::end() {
  while (first_ != nullptr) {
    Dependent& one = *first_;
    one.end();
    remove(one);
  }
}

void Dependents::remove(Dependent& one) {
  if (one.next_ != nullptr) one.next_->previous_ = one.previous_;
  (one.previous_ == nullptr ? first_ : one.previous_->next_) = one.next_;
  one.owner_ = nullptr;
}

}  // namespace beeline::c
