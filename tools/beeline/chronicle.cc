#include "tools/beeline/chronicle.h"

#include <algorithm>
#include <tuple>

#include "src/control/hive_paths.h"
#include "src/look/escape.h"
#include "src/look/segment_name.h"
#include "src/look/source.h"

namespace beeline::cli {
namespace {

std::string name_in(const segment::Foreign& memory) {
  const auto& control =
      *reinterpret_cast<const shm::HistoryControl*>(memory.data() + shm::HistoryLayout::kControl);
  const std::string_view whole(control.name, shm::kHistoryNameBytes);
  return look::escape(whole.substr(0, whole.find('\0')));
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
  for (const look::Source& source : *sources) {
    const auto name = look::parse_segment_name(source.name, paths->hive);
    if (!name || name->kind != shm::SegmentKind::kHistory) continue;
    if (!known_.emplace(source.device, source.inode).second) continue;
    auto fd = look::open_source(source);
    if (!fd) continue;  // its holder has let it go meanwhile
    const auto promised = shm::history_identity(name->pid, name->incarnation);
    auto memory =
        segment::Foreign::accept(std::move(*fd), promised, shm::HistoryLayout::kFirstExtent);
    if (!memory) {
      ++unreadable_;
      continue;
    }
    memory->close_fd();
    Book book{name->pid, name->incarnation, name_in(*memory), std::move(*memory), {}};
    for (const auto ring : {shm::HistoryRing::kSend, shm::HistoryRing::kOwn}) {
      book.readers.emplace_back(book.memory.data(), ring);
    }
    books_.push_back(std::move(book));
  }
  return {};
}

std::vector<HistoryLine> Chronicle::read() {
  std::vector<HistoryLine> lines;
  for (Book& book : books_) {
    for (std::size_t ring = 0; ring < book.readers.size(); ++ring) {
      HistoryLine line{book.pid, book.name, book.incarnation, static_cast<shm::HistoryRing>(ring),
                       0,        {}};
      // A writer that is faster than this reader must not keep it here.
      for (std::uint32_t i = 0; i < shm::kHistoryRowCount; ++i) {
        if (!book.readers[ring].next(line.item)) break;
        if (line.item.lost != 0) {
          line.lost = line.item.lost;
          lines.push_back(line);
          line.lost = 0;
        }
        if (line.item.has_row) lines.push_back(line);
      }
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const HistoryLine& a, const HistoryLine& b) {
    return std::tuple(a.item.row.at_ns, stage_of(a)) < std::tuple(b.item.row.at_ns, stage_of(b));
  });
  return lines;
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
