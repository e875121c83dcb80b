#include "bindings/python/core/orphans.h"

#include <utility>

namespace beeline::python {

void Orphans::add(void* handle, Free free) { waiting_.push_back({handle, free}); }

void Orphans::free_all() {
  const std::vector<Orphan> taken = std::exchange(waiting_, {});
  for (const Orphan& orphan : taken) orphan.free(orphan.handle);
}

}  // namespace beeline::python
