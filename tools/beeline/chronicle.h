#pragma once

// Reads the histories of a hive from outside: those of its running agents, and those that the
// keeper holds of agents that have ended. It maps them for reading; nobody waits for it.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beeline/result.h>
#include <beeline/types.h>

#include "shm/history.h"
#include "src/segment/foreign.h"

namespace beeline::cli {

// A row of a history, or the number of rows that were written over before they could be read.
struct HistoryLine {
  Pid pid = 0;  // the agent that has written it
  std::string name;
  shm::Incarnation incarnation{};
  shm::HistoryRing ring = shm::HistoryRing::kSend;
  std::uint64_t lost = 0;  // 0: this line is a row
  shm::HistoryItem item;

  [[nodiscard]] bool is_gap() const { return lost != 0; }
  [[nodiscard]] bool is_sent() const { return item.event() == shm::HistoryEvent::kSent; }
  [[nodiscard]] Pid from() const { return is_sent() ? pid : item.row.peer; }
  [[nodiscard]] Pid to() const { return is_sent() ? item.row.peer : pid; }
};

// One agent that has a history.
struct Chronicler {
  Pid pid = 0;
  std::string name;
  friend auto operator<=>(const Chronicler&, const Chronicler&) = default;
};

class Chronicle {
 public:
  explicit Chronicle(std::string hive) : hive_(std::move(hive)) {}

  // Finds the histories that are there now; call it again for new ones. One that is damaged, or of
  // another layout, is left out, see take_complaints(). Errors: those of look::find_segments().
  [[nodiscard]] Result<void> find();
  // All rows that no call has returned yet, in the order of their times. Within one
  // tick of the clock (4 ms) come first the rows about sending, then those about taking, then the
  // ends. A history in which a row or a head is impossible is left out from there on.
  [[nodiscard]] std::vector<HistoryLine> read();
  // Leaves out all rows that are there.
  void skip_all();

  [[nodiscard]] std::set<Chronicler> chroniclers() const;
  [[nodiscard]] bool empty() const { return books_.empty(); }
  // Why histories are left out, in words, each once.
  [[nodiscard]] std::vector<std::string> take_complaints() {
    return std::exchange(complaints_, {});
  }

 private:
  // Device and inode of a segment.
  using Key = std::pair<dev_t, ino_t>;
  struct Book {
    Key key;
    Pid pid = 0;
    shm::Incarnation incarnation{};
    std::string name;
    segment::Foreign memory;
    std::vector<shm::HistoryReader> readers;
    bool is_damaged = false;
    bool was_let_go = false;  // the keeper holds it no more: its agent has ended
  };

  void read(Book& book, shm::HistoryReader& ring, std::vector<HistoryLine>& lines);
  // The next row of a ring. False: there is none, or the history is damaged.
  [[nodiscard]] bool next(Book& book, shm::HistoryReader& ring, shm::HistoryItem& item);
  void find_damaged(Book& book, std::string_view finding);

  std::string hive_;
  std::vector<Book> books_;
  std::set<Key> known_;
  std::vector<std::string> complaints_;
};

}  // namespace beeline::cli
