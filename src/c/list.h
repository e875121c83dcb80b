#pragma once

#include <type_traits>
#include <utility>
#include <vector>

namespace beeline::c {

// A list as the caller sees it, with all that its items refer to.
template <typename View, typename Owned>
class List : public View {
 public:
  using Item = std::remove_cv_t<std::remove_pointer_t<decltype(View::items)>>;

  // `translate` makes an item that refers to an owned one.
  template <typename Translate>
  List(std::vector<Owned> owned, const Translate& translate) : View{}, owned_(std::move(owned)) {
    items_.reserve(owned_.size());
    for (const Owned& each : owned_) items_.push_back(translate(each));
    this->count = items_.size();
    this->items = items_.data();
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  static void free(View* view) { delete static_cast<List*>(view); }

 private:
  std::vector<Owned> owned_;
  std::vector<Item> items_{};
};

}  // namespace beeline::c
