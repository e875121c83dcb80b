#pragma once

#include <beeline/payload.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

/// One of several requests that Agent::request_all() sends. Refers to the texts and bytes of its To
/// and Payload and must not outlive them.
struct Request {
  To to;
  Payload payload{};
  SendOptions options{};
};

}  // namespace beeline
