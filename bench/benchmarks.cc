#include "bench/benchmarks.h"

#include "bench/fanin.h"
#include "bench/fanout.h"
#include "bench/idle.h"
#include "bench/inbox.h"
#include "bench/latency.h"
#include "bench/limit.h"
#include "bench/peers/peers.h"
#include "bench/primitives.h"
#include "bench/scale.h"
#include "bench/throughput.h"
#include "bench/together.h"
#include "bench/wake.h"
#ifdef BEELINE_HAS_BUFFER
#include "bench/buffer.h"
#endif
#ifdef BEELINE_HAS_SPOOL
#include "bench/spool.h"
#endif
#ifdef BEELINE_HAS_STEWARD
#include "bench/spawn.h"
#endif

namespace beeline::bench {

std::vector<std::unique_ptr<Benchmark>> all_benchmarks() {
  std::vector<std::unique_ptr<Benchmark>> all;
  all.push_back(make_limit());
  all.push_back(make_latency());
  all.push_back(make_throughput());
  all.push_back(make_fanin());
  all.push_back(make_fanout());
  all.push_back(make_together());
  all.push_back(make_wake());
  all.push_back(make_inbox());
  all.push_back(make_primitives());
  all.push_back(make_scale());
  all.push_back(make_idle());
#ifdef BEELINE_HAS_SPOOL
  all.push_back(make_spool());
#endif
#ifdef BEELINE_HAS_STEWARD
  all.push_back(make_spawn());
#endif
#ifdef BEELINE_HAS_BUFFER
  all.push_back(make_buffer());
#endif
  all.push_back(peers::make_peers());
  return all;
}

}  // namespace beeline::bench
