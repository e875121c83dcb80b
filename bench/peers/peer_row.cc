#include "bench/peers/peer_row.h"

#include "bench/copy.h"

namespace beeline::bench::peers {
namespace {

Row head_of(const PeerEntry& peer, const PeerCase& what) {
  Row row;
  row["peer"] = peer.name;
  row["kind"] = to_string(what.test);
  row["size"] = what.size;
  return row;
}

// The moved bytes, and the speed of a bare copy of them.
void add_gigabytes(Row& row, const PeerCase& what, const Outcome& outcome) {
  const auto size = static_cast<double>(what.size);
  row["gb_per_s"] = rounded(outcome.messages_per_s * size / 1e9);
  row["limit_gb_per_s"] = rounded(static_cast<double>(copied_per_clock(what.size)) /
                                  static_cast<double>(outcome.copy_ns));
}

}  // namespace

Figure figure_of(const PeerCase& what, const Outcome& outcome) {
  const double value =
      what.is_round_trip() ? static_cast<double>(outcome.rtt_ns.p50) : outcome.messages_per_s;
  return {value, outcome.limit.middle()};
}

Row measured_row(const PeerEntry& peer, const PeerCase& what, const Outcome& outcome,
                 const std::optional<Figure>& ours, const std::string& version) {
  Row row = head_of(peer, what);
  if (what.is_round_trip()) {
    row["rtt_ns"] = percentiles_json(outcome.rtt_ns);
  } else {
    add_rate(row, outcome);
    row["senders"] = what.senders;
    if (what.test == PeerTest::kFill) add_gigabytes(row, what, outcome);
  }
  if (ours) add_ratio(row, what.is_round_trip(), figure_of(what, outcome), *ours);
  row["version"] = version;
  add_conditions(row, what, outcome);
  return row;
}

Row row_without(const PeerEntry& peer, const PeerCase& what, const char* why,
                const std::string& reason) {
  Row row = head_of(peer, what);
  row["mode"] = bench::to_string(what.mode);
  row[why] = reason;
  return row;
}

Row skipped_row(const PeerEntry& peer, const std::string& reason) {
  return {{"peer", peer.name}, {"skipped", reason}};
}

}  // namespace beeline::bench::peers
