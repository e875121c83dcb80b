#include "tools/beeline/chronicle.h"

#include <algorithm>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "shm/verify_history.h"
#include "src/control/hive_paths.h"
#include "src/look/escape.h"
#include "src/look/segment_name.h"
#include "src/look/source.h"

namespace beeline::cli {
namespace {

using Layout = shm::HistoryLayout;

std::string name_in(const segment::Foreign& memory) {
  const auto& control =
      *reinterpret_cast<const shm::HistoryControl*>(memory.data() + Layout::kControl);
  const std::string_view whole(control.name, shm::kHistoryNameBytes);
  return look::escape(whole.substr(0, whole.find('\0')));
}

// Proves that the memory of the rows of a ring is there that its head counts: nobody touches memory
// that an owner only claims to have.
bool show_rows(segment::Foreign& memory, shm::HistoryReader& ring) {
  constexpr std::uint64_t kRowsOfPage = shm::kPage / sizeof(shm::HistoryRow);
  const std::uint64_t wanted = shm::round_up(ring.used(), kRowsOfPage);
  if (wanted <= ring.rows()) return true;
  const std::uint64_t from = Layout::rows_of(ring.ring()) + ring.rows() * sizeof(shm::HistoryRow);
  const std::uint64_t bytes = (wanted - ring.rows()) * sizeof(shm::HistoryRow);
  if (!memory.verify(from, bytes)) return false;
  ring.show(static_cast<std::uint32_t>(wanted), ring.previews());
  return true;
}

// The same for its previews. They are few pages, or none: all that its rows can have by now.
bool show_previews(segment::Foreign& memory, shm::HistoryReader& ring) {
  const std::uint64_t begin = Layout::previews_of(ring.ring());
  const std::uint64_t shown = shm::round_up(ring.previews() * shm::kPreviewBytes, shm::kPage);
  const std::uint64_t wanted = shm::round_up(ring.used() * shm::kPreviewBytes, shm::kPage);
  if (wanted > shown && !memory.verify(begin + shown, wanted - shown)) return false;
  ring.show(ring.rows(), static_cast<std::uint32_t>(wanted / shm::kPreviewBytes));
  return true;
}

// The clock of rows ticks seldom, and a message is sent before it is taken.
int stage_of(const HistoryLine& line) {
  if (line.is_gap()) return 0;
  if (line.is_sent()) return 1;
  return line.item.event() == shm::HistoryEvent::kTaken ? 2 : 3;
}

}  // namespace

Result<void> Chronicle::find() {
  const auto paths = control::find_hive(hive_);
  if (!paths) return tl::unexpected(paths.error());
  const auto sources = look::find_segments(hive_);
  if (!sources) return tl::unexpected(sources.error());
  std::set<Key> present;
  for (const look::Source& source : *sources) {
    const auto name = look::parse_segment_name(source.name, paths->hive);
    if (!name || name->kind != shm::SegmentKind::kHistory) continue;
    const Key key{source.device, source.inode};
    present.insert(key);
    if (known_.contains(key)) continue;
    auto fd = look::open_source(source);
    if (!fd)
      continue;  // its holder has let it go, or no descriptor is left: the next look may find it
    known_.insert(key);
    const auto promised = shm::history_identity(name->pid, name->incarnation);
    auto memory = segment::Foreign::accept(std::move(*fd), promised, Layout::kFirstExtent);
    if (!memory) {
      complaints_.push_back(fmt::format("a history is left out: {}", memory.error().text));
      continue;
    }
    Book book{key, name->pid, name->incarnation, name_in(*memory), std::move(*memory), {}};
    for (const auto ring : {shm::HistoryRing::kSend, shm::HistoryRing::kOwn}) {
      book.readers.emplace_back(book.memory.data(), ring, 0, 0);
    }
    books_.push_back(std::move(book));
  }
  for (Book& book : books_) book.was_let_go = !present.contains(book.key);
  std::erase_if(known_, [&](const Key& key) { return !present.contains(key); });
  return {};
}

std::vector<HistoryLine> Chronicle::read() {
  std::vector<HistoryLine> lines;
  for (Book& book : books_) {
    for (shm::HistoryReader& ring : book.readers) read(book, ring, lines);
  }
  // Nobody writes them any more, and all their rows have been read.
  std::erase_if(books_, [](const Book& book) { return book.was_let_go; });
  std::stable_sort(lines.begin(), lines.end(), [](const HistoryLine& a, const HistoryLine& b) {
    return std::tuple(a.item.row.at_ns, stage_of(a)) < std::tuple(b.item.row.at_ns, stage_of(b));
  });
  return lines;
}

void Chronicle::read(Book& book, shm::HistoryReader& ring, std::vector<HistoryLine>& lines) {
  HistoryLine line{book.pid, book.name, book.incarnation, ring.ring(), 0, {}};
  // A writer that is faster than this reader must not keep it here.
  for (std::uint32_t i = 0; i < shm::kHistoryRowCount; ++i) {
    if (!next(book, ring, line.item)) return;
    if (line.item.lost != 0) {
      line.lost = line.item.lost;
      lines.push_back(line);
      line.lost = 0;
    }
    if (line.item.has_row) lines.push_back(line);
  }
}

bool Chronicle::next(Book& book, shm::HistoryReader& ring, shm::HistoryItem& item) {
  if (book.is_damaged) return false;
  const auto damaged = [&](std::string_view finding) {
    find_damaged(book, finding);
    return false;
  };
  if (!show_rows(book.memory, ring)) return damaged("it lacks the memory of its rows");
  const bool is_new = ring.next(item);
  if (ring.has_fallen() || item.lost > shm::kMaxPosition) return damaged("its head is impossible");
  if (!is_new || !item.has_row) return is_new;
  const auto verify = [&] {
    const std::span row(reinterpret_cast<const std::byte*>(&item.row), sizeof(item.row));
    const auto finding = shm::verify_history_row(shm::ByteView(row), 0);
    return !finding ||
           damaged(fmt::format("{} is {} in a row", finding->invariant, finding->found));
  };
  if (!verify()) return false;
  const std::uint64_t position = item.row.place - 1;
  if (item.row.preview_length == 0 || position % shm::kHistoryRowCount < ring.previews()) {
    return true;
  }
  if (!show_previews(book.memory, ring)) return damaged("it lacks the memory of its previews");
  if (ring.copy(position, item)) return verify();  // the owner may have changed it meanwhile
  item.has_row = false;                            // it was written over meanwhile
  ++item.lost;
  return true;
}

void Chronicle::find_damaged(Book& book, std::string_view finding) {
  book.is_damaged = true;
  complaints_.push_back(
      fmt::format("the history of {} (pid {}, life {}) is damaged, and left out "
                  "from there on: {}",
                  book.name, book.pid, book.incarnation.value(), finding));
}

void Chronicle::skip_all() {
  for (Book& book : books_) {
    for (shm::HistoryReader& reader : book.readers) reader.skip_all();
  }
}

std::set<Chronicler> Chronicle::chroniclers() const {
  std::set<Chronicler> all;
  for (const Book& book : books_) all.insert({book.pid, book.name});
  return all;
}

}  // namespace beeline::cli
