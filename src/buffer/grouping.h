#pragma once

// Pure: unrouted messages become groups, and groups become batches of a bounded size.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/buffer/config.h"
#include "src/buffer/message.h"

namespace beeline::buffer {

// Groups by conversation and channel. `rows` are in the order of priority and id, and so are the
// groups, each by its first message; within a group messages are in the order of their ids.
[[nodiscard]] std::vector<Group> group_rows(std::vector<Message> rows);

// How full a batch is.
struct Fill {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// The messages begin to end of a group.
struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t bytes = 0;
  bool joins = false;  // the batch that grows; else they are a new one
};

// Cuts a group. The first slice joins the batch that grows if that has room for a message;
// `growing` is null if there is none.
[[nodiscard]] std::vector<Slice> slice_group(const Group& group, const BatchLimits& limits,
                                             const Fill* growing);

}  // namespace beeline::buffer
