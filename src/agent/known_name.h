#pragma once

#include <cstdint>

#include <beeline/types.h>

namespace beeline {

// Whom a name meant when it was looked up; see AgentCore::peer().
struct KnownName {
  Pid pid = 0;
  std::uint64_t epoch = 0;  // of the directory
  std::int64_t looked_ns = 0;
};

}  // namespace beeline
