#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <beeline/result.h>

namespace beeline::bench {

struct TakeTimes {
  std::uint64_t p50_ns = 0;  // without the commit
  std::uint64_t p99_ns = 0;
  std::uint64_t commit_p50_ns = 0;
};

// The messages of a batch.
inline constexpr std::size_t kTakenMessages = 100;

// Takes batches out of new ledgers in an empty folder, one for each number of messages that wait
// for their route: each time a batch is routed, handed out and acknowledged in one transaction. As
// many messages come again before the next time. The ledgers are measured in turn. Errors: those of
// Ledger, kSystem.
[[nodiscard]] Result<std::vector<TakeTimes>> measure_takes(const std::string& folder,
                                                           const std::vector<std::size_t>& rows,
                                                           std::size_t runs);

}  // namespace beeline::bench
