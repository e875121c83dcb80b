#pragma once

// A connection to the database that only reads.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <beeline/result.h>

#include "src/buffer/database.h"
#include "src/buffer/queries.h"
#include "src/buffer/schema.h"

namespace beeline::buffer {

class View {
 public:
  // Errors: those of check_schema() and as of Database::failed().
  [[nodiscard]] static Result<std::unique_ptr<View>> open(const std::string& path) {
    auto database = Database::open_to_read(path);
    if (!database) return tl::unexpected(std::move(database.error()));
    // The queries point to the database, so a view does not move.
    std::unique_ptr<View> view(new View(std::move(*database)));
    if (auto good = check_schema(view->database_); !good) {
      return tl::unexpected(std::move(good.error()));
    }
    auto queries = Queries::open(view->database_);
    if (!queries) return tl::unexpected(std::move(queries.error()));
    view->queries_.emplace(std::move(*queries));
    return view;
  }

  [[nodiscard]] Queries& queries() { return *queries_; }

 private:
  explicit View(Database database) : database_(std::move(database)) {}
  Database database_;
  std::optional<Queries> queries_{};
};

}  // namespace beeline::buffer
