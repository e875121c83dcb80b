#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/spool.h>

#include "src/spool/claims.h"
#include "src/spool/folder_files.h"
#include "src/spool/inbox.h"
#include "src/spool/moves.h"
#include "src/spool/name_watch.h"
#include "src/spool/recovery.h"
#include "src/spool/remarks.h"
#include "src/spool/wakeups.h"

namespace beeline::spool {

// A Spool without its handle. Claims point at it.
class SpoolCore {
 public:
  SpoolCore(FolderFiles files, Options options);

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Outcome<std::string> put(Task task);
  [[nodiscard]] Outcome<Claim> try_claim();
  [[nodiscard]] Outcome<Claim> claim(Deadline deadline);
  [[nodiscard]] Outcome<Claim> held(std::string_view id);
  [[nodiscard]] Outcome<std::vector<Claim>> take_over();
  [[nodiscard]] Outcome<std::vector<Listed>> list(Folder folder);
  [[nodiscard]] Outcome<Listed> find(std::string_view id);
  [[nodiscard]] Outcome<Swept> sweep();
  [[nodiscard]] int fd();
  [[nodiscard]] std::vector<std::string> take_remarks() { return remarks_.take(); }

  // For Claim.
  [[nodiscard]] Claims& claims() { return claims_; }
  [[nodiscard]] static ClaimedFile file_of(const Claim& claim);
  static void store(Claim& claim, ClaimedFile file);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Claim claim_of(ClaimedFile file);
  [[nodiscard]] Outcome<std::optional<Claim>> take_best();
  [[nodiscard]] Outcome<Recovery::Report> take_back();
  // Does so, unless it was done just now. True if it was done.
  [[nodiscard]] Outcome<bool> recover(std::chrono::nanoseconds pause);
  [[nodiscard]] bool arm();
  void disarm();
  [[nodiscard]] std::chrono::nanoseconds longest_sleep() const;

  Options options_;
  FolderFiles files_;
  Remarks remarks_;
  Moves moves_;
  NameWatch watch_;
  Inbox inbox_;
  Claims claims_;
  Recovery recovery_;
  Wakeups wakeups_;
  Recovery::Report last_;  // of the last recovery
  Clock::time_point recovered_at_{};
  std::chrono::nanoseconds recovery_took_{0};
  bool wants_recovery_ = true;  // something has changed in processing/ since
  bool is_armed_ = false;       // the kernel tells of claims and of the ends of their processes
  bool arms_ = false;           // somebody waits for fd()
  bool sees_all_ends_ = true;   // the end of each process with a claim is told
};

}  // namespace beeline::spool
