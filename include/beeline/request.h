#pragma once

#include <beeline/payload.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

/// One of several requests that Agent::request_all() sends. Refers to the texts and bytes that it
/// was made from.
struct Request {
  To to;
  Payload payload{};
  SendOptions options{};
};

}  // namespace beeline
