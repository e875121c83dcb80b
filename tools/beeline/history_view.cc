#include "tools/beeline/history_view.h"

#include <algorithm>
#include <ctime>
#include <set>

#include <fmt/format.h>

#include "shm/entry.h"
#include "src/control/name_search.h"
#include "src/look/escape.h"
#include "tools/beeline/times.h"

namespace beeline::cli {
namespace {

using shm::HistoryRow;

std::string clock_text(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_ms % 1000);
}

std::string type_of(const shm::HistoryItem& item) {
  const bool is_copy = (item.row.flags & shm::kFlagCopy) != 0;
  return (is_copy ? std::string(kSiblingTraffic) : "") + look::escape(item.type());
}

std::string_view reason_of(const HistoryRow& row) {
  return shm::to_string(static_cast<shm::DeadReason>(row.reason));
}

Json id_json(MessageId id) { return id == 0 ? Json(nullptr) : Json(id_text(id)); }

std::string_view ring_word(shm::HistoryRing ring) {
  return ring == shm::HistoryRing::kSend ? "sent" : "received";
}

// The messages of a trace by their ids, and which of them came of which.
class TraceTree {
 public:
  explicit TraceTree(const std::vector<HistoryLine>& lines) {
    for (const HistoryLine& line : lines) {
      if (line.is_gap()) continue;
      const HistoryRow& row = line.item.row;
      rows_[row.id].push_back(&line);
      if (row.cause != 0 && row.cause != row.id) {
        causes_.emplace(row.id, row.cause);
        effects_[row.cause].insert(row.id);
      }
    }
  }

  // The messages that led to this one, the first one first.
  [[nodiscard]] std::vector<MessageId> above(MessageId id) const {
    std::vector<MessageId> chain;
    for (auto at = causes_.find(id); at != causes_.end(); at = causes_.find(at->second)) {
      if (std::find(chain.begin(), chain.end(), at->second) != chain.end()) break;
      chain.push_back(at->second);
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  void add(MessageId id, std::size_t depth, std::vector<TraceLine>& out) {
    if (!seen_.insert(id).second) return;
    if (const auto found = rows_.find(id); found != rows_.end()) {
      for (const HistoryLine* line : found->second) out.push_back({*line, depth});
    }
  }

  // With all that came of it. A history may lie: circles end.
  void add_all(MessageId root, std::size_t depth, std::vector<TraceLine>& out) {
    std::vector<std::pair<MessageId, std::size_t>> open{{root, depth}};
    while (!open.empty()) {
      const auto [id, level] = open.back();
      open.pop_back();
      if (seen_.contains(id)) continue;
      add(id, level, out);
      const auto effects = effects_.find(id);
      if (effects == effects_.end()) continue;
      for (auto effect = effects->second.rbegin(); effect != effects->second.rend(); ++effect) {
        open.emplace_back(*effect, level + 1);
      }
    }
  }

 private:
  std::map<MessageId, std::vector<const HistoryLine*>> rows_;
  std::map<MessageId, MessageId> causes_;
  std::map<MessageId, std::set<MessageId>> effects_;
  std::set<MessageId> seen_;
};

}  // namespace

std::string HistoryNames::of(Pid pid) const {
  const auto found = names_.find(pid);
  return found == names_.end() ? fmt::format("pid {}", pid) : found->second;
}

bool HistoryNames::means(std::string_view text, Pid pid) const {
  if (control::is_number(text)) return control::pid_from(text) == pid;
  const auto found = names_.find(pid);
  if (found == names_.end()) return false;
  return found->second == text || control::matches_short_name(found->second, text);
}

bool HistoryFilter::takes(const HistoryLine& line, const HistoryNames& names) const {
  if (since_ns && line.item.row.at_ns < *since_ns) return false;
  if (line.is_gap()) return true;
  if (!from.empty() && !names.means(from, line.from())) return false;
  if (!to.empty() && !names.means(to, line.to())) return false;
  if (!type.empty() && line.item.type() != type) return false;
  return !rank || line.item.row.rank == *rank;
}

Json history_json(const HistoryLine& line, const HistoryNames& names) {
  Json out{{"agent", line.name}, {"pid", line.pid}, {"incarnation", line.incarnation.value()}};
  if (line.is_gap()) {
    out["ring"] = ring_word(line.ring);
    out["lost"] = line.lost;
    return out;
  }
  const HistoryRow& row = line.item.row;
  const std::string trace = trace_digits(row);
  out["at_unix_ms"] = sent_unix_ms(row.at_ns);
  out["event"] = shm::to_string(line.item.event());
  out["id"] = id_text(row.id);
  out["from"] = line.from();
  out["from_name"] = names.of(line.from());
  out["to"] = line.to();
  out["to_name"] = names.of(line.to());
  out["type"] = type_of(line.item);
  out["rank"] = row.rank;
  out["bytes"] = row.length;
  out["cause"] = id_json(row.cause);
  out["reply_to"] = id_json(row.reply_to);
  out["trace"] = trace.empty() ? Json(nullptr) : Json(trace);
  out["reason"] = row.reason == 0 ? Json(nullptr) : Json(reason_of(row));
  out["preview"] = row.preview_length == 0 ? Json(nullptr) : Json(look::escape(line.item.shown()));
  return out;
}

std::string history_text(const HistoryLine& line, const HistoryNames& names, std::size_t depth) {
  if (line.is_gap()) {
    return fmt::format("... {} rows of {} ({}) were written over before they were read\n",
                       line.lost, line.name, ring_word(line.ring));
  }
  const HistoryRow& row = line.item.row;
  std::string text = fmt::format("{} {:<9} {:{}}{} {} -> {}", clock_text(sent_unix_ms(row.at_ns)),
                                 shm::to_string(line.item.event()), "", 2 * depth, id_text(row.id),
                                 names.of(line.from()), names.of(line.to()));
  const std::string type = type_of(line.item);
  if (!type.empty()) text += ' ' + type;
  text += fmt::format(" {} B", row.length);
  if (row.rank != kNormal) text += fmt::format(" rank {}", row.rank);
  if (row.cause != 0) text += " from " + id_text(row.cause);
  if (row.reason != 0) text += fmt::format(" ({})", reason_of(row));
  if (row.preview_length != 0) {
    text += "  " + look::escape(line.item.shown());
    if (row.preview_length < row.length) text += "...";
  }
  return text + '\n';
}

std::string trace_digits(const HistoryRow& row) {
  constexpr std::size_t kIdBytes = 16;
  const auto* const end = row.trace + kIdBytes;
  if (std::all_of(row.trace, end, [](unsigned char byte) { return byte == 0; })) return {};
  std::string digits;
  for (const auto* at = row.trace; at != end; ++at) digits += fmt::format("{:02x}", *at);
  return digits;
}

std::vector<TraceLine> trace_of(const std::vector<HistoryLine>& lines, MessageId root,
                                const std::string& trace) {
  TraceTree tree(lines);
  std::vector<TraceLine> out;
  if (trace.empty()) {
    const std::vector<MessageId> above = tree.above(root);
    for (std::size_t depth = 0; depth < above.size(); ++depth) tree.add(above[depth], depth, out);
    tree.add_all(root, above.size(), out);
    return out;
  }
  for (const HistoryLine& line : lines) {
    if (line.is_gap() || trace_digits(line.item.row) != trace) continue;
    tree.add_all(line.item.row.id, tree.above(line.item.row.id).size(), out);
  }
  return out;
}

}  // namespace beeline::cli
