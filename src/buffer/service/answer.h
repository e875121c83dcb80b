#pragma once

// Answers of the buffer, as JSON. The commands that read a database without a buffer use them, too.

#include <string>

#include <beeline/result.h>

#include "src/buffer/intake.h"
#include "src/buffer/queries.h"
#include "src/buffer/service/request.h"

namespace beeline::buffer {

[[nodiscard]] std::string error_text(const Error& error);
[[nodiscard]] std::string put_text(const PutAnswer& answer);

struct StatusFacts {
  std::uint64_t commits = 0;  // of this life
  std::string database{};
  std::uint64_t threshold = 0;
};
// Errors of the three: those of the queries; kNoAgent (there is no such row).
[[nodiscard]] Result<std::string> status_text(Queries& queries, const StatusFacts& facts);
[[nodiscard]] Result<std::string> list_text(Queries& queries, const ListRequest& request);
[[nodiscard]] Result<std::string> show_text(Queries& queries, const ShowRequest& request);

}  // namespace beeline::buffer
