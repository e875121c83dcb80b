#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/spool.h>

#include "src/spool/moves.h"

namespace beeline::spool {

// A task in processing/ that this worker has.
struct ClaimedFile {
  Task task;
  std::string note;
  std::uint64_t inode = 0;  // of the file as this worker wrote it
  std::int64_t written_ns = 0;
  std::int64_t made_ns = 0;  // when it was claimed
};

// Makes claims and ends them.
class Claims {
 public:
  Claims(Moves& moves, const Options& options);

  enum class Refusal : std::uint8_t {
    kGone,     // another process has it, or it was no task
    kBlocked,  // a task of the same id is being worked on
  };
  struct Taken {
    std::optional<ClaimedFile> claim;
    Refusal refusal = Refusal::kGone;
  };
  // Claims a task of inbox/.
  [[nodiscard]] Outcome<Taken> take(const std::string& id);

  // The claim of this worker. Errors: kTaskNotFound.
  [[nodiscard]] Outcome<ClaimedFile> held(std::string_view id) const;
  // Writes the claim again, as one of Options::process and with this note.
  [[nodiscard]] Outcome<void> rewrite(ClaimedFile& claim, std::string_view note);
  [[nodiscard]] Outcome<void> heartbeat(ClaimedFile& claim);

  [[nodiscard]] Outcome<void> complete(const ClaimedFile& claim, Completion completion);
  [[nodiscard]] Outcome<void> fail(const ClaimedFile& claim, std::string_view error);
  [[nodiscard]] Outcome<bool> retry(const ClaimedFile& claim, std::string_view error);

 private:
  [[nodiscard]] Outcome<std::optional<Task>> read_moved(const std::string& id);
  [[nodiscard]] Outcome<FolderFiles::Temp> make_claim_temp(const std::string& id);
  [[nodiscard]] Outcome<ClaimedFile> stamp(FolderFiles::Temp& temp, Task task);
  [[nodiscard]] Outcome<ClaimedFile> write_claim(FolderFiles::Temp& temp, Task task,
                                                 std::string note, std::int64_t made_ns);
  // The claim is still this worker's. Errors: kTaskNotFound.
  [[nodiscard]] Outcome<void> check(const ClaimedFile& claim) const;

  Moves& moves_;
  FolderFiles& files_;
  const Options& options_;
  Claimant owner_;
};

}  // namespace beeline::spool
