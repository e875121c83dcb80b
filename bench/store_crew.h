#pragma once

#include <cstddef>
#include <cstdint>

#include <beeline/result.h>

#include "bench/pair.h"
#include "bench/store.h"

namespace beeline::bench {

struct SenderRates {
  double per_s = 0.0;        // answers a second, of all senders together
  std::uint64_t p50_ns = 0;  // an answer to one of them
  std::uint64_t p99_ns = 0;
};

// Lets processes put messages for `seconds`, each the next one as soon as the last is answered.
// Errors: of a sender, kSystem.
[[nodiscard]] Result<SenderRates> measure_senders(SharedBoard& board, const Store& store,
                                                  std::size_t senders, double seconds);

}  // namespace beeline::bench
