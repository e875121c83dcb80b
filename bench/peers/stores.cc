#include "bench/peers/stores.h"

#include <fmt/format.h>

#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

[[maybe_unused]] Result<std::unique_ptr<Store>> store_without_library(std::string_view name) {
  return fail(ErrorCode::kInvalid,
              fmt::format("not built in: install {} and build again", find_peer(name)->packages));
}

}  // namespace

// Each macro is 1 or 0: whether CMake found the library.
#if !BEELINE_PEER_REDIS
Result<std::unique_ptr<Store>> start_redis_store(const std::string& /*folder*/) {
  return store_without_library("redis");
}
#endif
#if !BEELINE_PEER_NATS
Result<std::unique_ptr<Store>> start_nats_store(const std::string& /*folder*/) {
  return store_without_library("nats");
}
#endif

}  // namespace beeline::bench::peers
