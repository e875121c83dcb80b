#pragma once
// The rows of `beeline-bench peers`.

#include <optional>
#include <string>

#include "bench/peers/ratio.h"
#include "bench/peers/registry.h"
#include "bench/peers/row.h"
#include "bench/sink.h"

namespace beeline::bench::peers {

// The figure that is compared.
[[nodiscard]] Figure figure_of(const PeerCase& what, const Outcome& outcome);

// A measured row. `ours`: Beeline's figure for the same, nothing if there is none. `version`: of
// the peer, and of its server if it has one.
[[nodiscard]] Row measured_row(const PeerEntry& peer, const PeerCase& what, const Outcome& outcome,
                               const std::optional<Figure>& ours, const std::string& version);

// A row without a figure. `why`: "skipped" (it cannot carry this) or "failed".
[[nodiscard]] Row row_without(const PeerEntry& peer, const PeerCase& what, const char* why,
                              const std::string& reason);
// A peer that is not measured at all.
[[nodiscard]] Row skipped_row(const PeerEntry& peer, const std::string& reason);

}  // namespace beeline::bench::peers
