#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include <beeline/spool.h>

#include "src/spool/inbox_index.h"
#include "src/spool/moves.h"
#include "src/spool/name_watch.h"

namespace beeline::spool {

// The tasks that wait, kept up to date: one look at the whole folder, then the events of the
// kernel.
class Inbox {
 public:
  Inbox(Moves& moves, const Options& options, NameWatch& watch);

  // Takes in what has changed. True if the folder processing/ got files, too.
  [[nodiscard]] Outcome<bool> refresh();
  [[nodiscard]] bool empty() const { return index_.empty(); }
  [[nodiscard]] const std::string& best() const { return index_.best().id; }
  void erase(const std::string& id) { index_.erase(id); }
  // Sets a task aside until no task of its id is being worked on.
  void block(const std::string& id);
  // Looks at a task that came without a word of the kernel.
  [[nodiscard]] Outcome<void> look_at(const std::string& id);
  // True if it must be looked at by time, because the kernel does not tell everything.
  [[nodiscard]] bool needs_looks() const {
    return !is_told_ || options_.shared || !blocked_.empty();
  }

 private:
  [[nodiscard]] Outcome<void> look_at_all();
  [[nodiscard]] Outcome<void> look_at_name(const std::string& name, bool is_finished);
  [[nodiscard]] Outcome<void> unblock();

  Moves& moves_;
  const Options& options_;
  NameWatch& watch_;
  InboxIndex index_;
  std::set<std::string> blocked_;
  bool is_told_ = false;  // the kernel tells of changes
  bool must_look_ = true;
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace beeline::spool
