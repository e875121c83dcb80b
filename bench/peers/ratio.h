#pragma once
// A peer beside Beeline: the ratio of their figures, if the machine allows one.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bench/table.h"

namespace beeline::bench::peers {

// The figure that a row is compared by, and the limit of the machine at that time.
struct Figure {
  double value = 0.0;  // p50 of a round trip in ns, or messages a second
  double limit_rtt_ns = 0.0;
};

// Beeline's figures in one test of one size and mode, each at the limit that the machine had.
class Ours {
 public:
  // Measures it once more; nothing if that fails.
  using Measure = std::function<std::optional<Figure>()>;

  // `most_attempts`: how often Beeline is measured at most to get a figure beside another one.
  Ours(int most_attempts, Measure again)
      : most_attempts_(most_attempts), again_(std::move(again)) {}

  void add(const Figure& figure) { figures_.push_back(figure); }

  // The figure at the limit nearest to theirs. Measures again if the machine is another one than
  // ever before. Nothing if there is none.
  [[nodiscard]] std::optional<Figure> beside(const Figure& theirs);

 private:
  int most_attempts_;
  Measure again_;
  std::vector<Figure> figures_;
};

// Writes `ratio_to_beeline`, our figure (`beeline_rtt_ns` or `beeline_messages_per_s`), its limit
// (`beeline_limit_rtt_ns`) and, if there is a ratio, `better`. If the limits of the two rows
// differ by more than 30 %, the machine was another one and the ratio is null. `lower_is_better`:
// a time, not a rate. REQUIRES: `ours` was measured.
void add_ratio(Row& row, bool lower_is_better, const Figure& theirs, const Figure& ours);

}  // namespace beeline::bench::peers
