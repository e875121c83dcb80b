#pragma once
// Every place in the source that asks for an order: a publish, an observe, a fence. They are found
// in the text, so that none can be forgotten, and weakened one by one, so that each is shown
// necessary. A place is a line, so a line holds at most one order. An order that runs and was not
// found is an error.

#include <string>
#include <vector>

#include "tests/explore/atomic.h"

namespace beeline::explore {

struct Site {
  std::string file;  // from the root of the repository
  int line = 0;
  std::string text;  // the line itself
};

class Sites {
 public:
  // Reads the sources below `root`. False, with a message, if there are none, or if one of them
  // spells an order that cannot be weakened.
  [[nodiscard]] bool read(const std::string& root);

  [[nodiscard]] std::size_t count() const { return sites_.size(); }
  [[nodiscard]] const Site& operator[](std::size_t site) const { return sites_[site]; }
  [[nodiscard]] std::string name(std::size_t site) const;
  // The site at this place, or -1.
  [[nodiscard]] int find(Place place);

  // Called at every strong access: notes that the site was reached, and returns whether it is
  // weakened now.
  [[nodiscard]] bool is_weak(Place place) {
    const int site = find(place);
    if (site < 0) {
      note_unknown(place);
      return false;
    }
    reached_[static_cast<std::size_t>(site)] = true;
    return site == weak_;
  }
  void weaken(int site) { weak_ = site; }  // -1: none
  [[nodiscard]] const std::vector<bool>& reached() const { return reached_; }
  void forget_reached() { reached_.assign(sites_.size(), false); }
  // Places that asked for an order, without one in the text.
  [[nodiscard]] const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  [[nodiscard]] bool read_file(const std::string& root, const std::string& file);
  void note_unknown(Place place);

  std::vector<std::string> files_;
  std::vector<Site> sites_;
  std::vector<std::string> unknown_;
  std::vector<bool> reached_;
  int weak_ = -1;
};

[[nodiscard]] Sites& sites();

}  // namespace beeline::explore
