#pragma once

#include <beeline/result.h>

#include "bench/case.h"

namespace beeline::bench {

// Measures until the outcome is stable, at most `most` times. Returns the last outcome, with the
// number of attempts. `measure` is a Result<Outcome>(). Errors: those of `measure`, at once.
template <typename Measure>
[[nodiscard]] Result<Outcome> measure_until_stable(int most, const Measure& measure) {
  for (int attempt = 1;; ++attempt) {
    Result<Outcome> outcome = measure();
    if (!outcome) return outcome;
    outcome->attempts = attempt;
    if (outcome->stable() || attempt >= most) return outcome;
  }
}

}  // namespace beeline::bench
