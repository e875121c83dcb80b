#pragma once

// The state of the steward on disk: one SQLite file. A change is in the file when its call returns,
// so a killed steward loses none; a crash of the machine may lose the last ones, and all processes.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/steward/child.h"

namespace beeline::steward {

inline constexpr std::int64_t kMostEnds = 1024;
inline constexpr std::int64_t kMostAnswers = 4096;
inline constexpr std::int64_t kEndLifeNs = 24LL * 3600 * 1'000'000'000;

class Store {
 public:
  // Opens or makes the file. A file that is no database is moved aside, and `remark` says so.
  // Errors: kWrongVersion (a later steward wrote it), kSystem.
  [[nodiscard]] static Result<Store> open(const std::string& path, std::string& remark);

  // The hive that the children belong to; empty in a new file.
  [[nodiscard]] std::string hive_instance();
  // A new one: answers of the earlier one go.
  [[nodiscard]] Result<void> set_hive_instance(const std::string& instance);

  [[nodiscard]] Result<std::vector<Child>> children();
  // Gives the child its id.
  [[nodiscard]] Result<void> add(Child& child);
  // Writes everything that can change.
  [[nodiscard]] Result<void> save(const Child& child);
  [[nodiscard]] Result<void> remove(const Child& child);

  // The answer to a request that was answered before.
  [[nodiscard]] std::optional<std::string> answer(const RequestTag& request);
  // Keeps an answer, with the state of the child that it is about. The newest kMostAnswers stay.
  [[nodiscard]] Result<void> save_answered(const Child* child, const RequestTag& request,
                                           const std::string& answer);

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  Store(std::string path, Database database)
      : path_(std::move(path)), database_(std::move(database)) {}
  [[nodiscard]] static Result<Store> open_once(const std::string& path);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<Statement> compile(const char* sql);
  [[nodiscard]] Result<void> run(const char* sql);
  // Runs a statement that returns no rows, and resets it.
  [[nodiscard]] Result<void> finish(sqlite3_stmt* statement, const char* what);
  [[nodiscard]] tl::unexpected<Error> failed(const char* what);

  std::string path_;
  Database database_;
  Statement add_;
  Statement save_;
  Statement remove_;
  Statement find_answer_;
  Statement add_answer_;
  Statement trim_answers_;
  int answers_since_trim_ = 0;
};

}  // namespace beeline::steward
