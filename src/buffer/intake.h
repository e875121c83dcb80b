#pragma once

// Writes messages into the table, each once.

#include <cstdint>

#include <beeline/result.h>

#include "src/buffer/config.h"
#include "src/buffer/database.h"
#include "src/buffer/message.h"

namespace beeline::buffer {

struct PutAnswer {
  RowId id = 0;
  bool is_repeat = false;    // the row is that of an earlier put
  std::uint64_t warned = 0;  // this message crossed the threshold: so many are not done
};

// Errors: kInvalid, kTooBig; the text names the field.
[[nodiscard]] Result<void> check_put(const Put& put);

class Intake {
 public:
  [[nodiscard]] static Result<Intake> open(Database& database, const ChannelPriorities& channels);

  // REQUIRES: a transaction. Errors: those of check_put(), which leave the transaction as it is,
  // and as of Database::failed().
  [[nodiscard]] Result<PutAnswer> put(const Put& put, std::int64_t now_ms);

 private:
  Intake(Database& database, const ChannelPriorities& channels)
      : database_(&database), channels_(&channels) {}

  Database* database_;
  const ChannelPriorities* channels_;
  Statement find_;
  Statement insert_;
  Statement insert_origin_;
};

}  // namespace beeline::buffer
