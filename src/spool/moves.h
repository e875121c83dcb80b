#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/spool.h>

#include "src/spool/claimant.h"
#include "src/spool/folder_files.h"
#include "src/spool/half_claim.h"
#include "src/spool/remarks.h"

namespace beeline::spool {

// Seconds since 1970: now, or at a time of CLOCK_REALTIME.
[[nodiscard]] std::int64_t unix_seconds();
[[nodiscard]] std::int64_t unix_seconds(std::int64_t realtime_ns);

// The ways of a task between the folders that claims, their ends and recovery share. A way back
// begins with a rename to the name of a HalfClaim: one process wins, and the task has one file at
// every moment. After a kill the recovery goes on from there.
class Moves {
 public:
  Moves(FolderFiles& files, Remarks& remarks);

  [[nodiscard]] FolderFiles& files() const { return files_; }
  [[nodiscard]] Remarks& remarks() const { return remarks_; }
  [[nodiscard]] const Host& host() const { return host_; }
  [[nodiscard]] const ProcessLife& process() const { return process_; }
  // True for a half claim of this very Spool. It uses none at the moment, so that one was left.
  [[nodiscard]] bool is_ours(const HalfClaim& half) const;

  // The name under which this Spool puts the task back.
  [[nodiscard]] std::string half_name(std::string_view id) const;
  // The name of a claim that this Spool is making.
  [[nodiscard]] std::string claim_temp_name(std::string_view id) const;
  // Takes a file for this Spool. False: there is no such file any more.
  [[nodiscard]] Outcome<bool> take(const FileName& from, std::string_view half);
  // Puts a half claim back to inbox/ as it is. If the inbox has another task of the id now, the
  // file stays a half claim.
  [[nodiscard]] Outcome<Moved> put_back(std::string_view half, std::string_view id);

  // Puts the task of a half claim back to inbox/, unclaimed, or fails it if its attempts are used
  // up or another task has its id there. True: it waits again.
  [[nodiscard]] Outcome<bool> release(std::string_view half, Task task, std::string_view error);
  // Ends a task: its error goes to failed/, then its file is removed.
  [[nodiscard]] Outcome<void> fail(const FileName& from, const Task& task, std::string_view error);
  // Moves a file that is no task to failed/, with the reason, and says so.
  [[nodiscard]] Outcome<void> reject(const FileName& from, std::string_view id,
                                     std::string_view why);

 private:
  [[nodiscard]] Outcome<void> write_error(const TaskError& error);

  FolderFiles& files_;
  Remarks& remarks_;
  Host host_;
  std::string host_tag_;
  ProcessLife process_;
  std::uint64_t spool_;
};

// The claim in the metadata of a task.
[[nodiscard]] std::optional<Claimant> claimant_of(const Task& task);
void set_claimant(Task& task, const Claimant& claimant);

}  // namespace beeline::spool
