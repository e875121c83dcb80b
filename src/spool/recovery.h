#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <beeline/spool.h>

#include "src/spool/moves.h"

namespace beeline::spool {

// Takes back tasks in processing/ whose processes have ended.
class Recovery {
 public:
  Recovery(Moves& moves, const Options& options) : moves_(moves), options_(options) {}

  struct Report {
    std::vector<std::string> recovered;
    std::vector<std::string> exhausted;
    std::vector<std::string> finished;
    std::set<ProcessLife> living;  // processes of this host that have claims
    bool has_unknown = false;      // there are claims for which only their heartbeat counts
    bool was_alone = false;        // it could take tasks back
  };
  // Looks at each file once. An error about one file is a remark, and the others are looked at.
  // While another process does the same, it only looks.
  [[nodiscard]] Outcome<Report> run();

 private:
  [[nodiscard]] Outcome<void> look_at_half(const HalfClaim& half, const std::string& name);
  [[nodiscard]] Outcome<void> look_at_task(const std::string& id, const std::string& name);
  // The next step with a task in processing/.
  enum class Verdict : std::uint8_t {
    kLeave,     // its worker lives, or may live
    kPutBack,   // its claim was never finished
    kTakeBack,  // its worker has ended
  };
  [[nodiscard]] Outcome<Verdict> judge(const Task& task, const FileFacts& facts);
  [[nodiscard]] Outcome<Verdict> judge_unclaimed(const std::string& id, const FileFacts& facts);
  [[nodiscard]] Outcome<void> put_back(const std::string& half, const std::string& id);
  [[nodiscard]] Outcome<void> drop_claim_temps(const std::string& id);
  [[nodiscard]] Outcome<void> finish_half(const std::string& half, const std::string& id);
  [[nodiscard]] bool is_finished(const Task& task, const FileFacts& facts) const;
  [[nodiscard]] bool is_old(std::int64_t since_ns) const;

  Moves& moves_;
  const Options& options_;
  Report report_;
  bool may_act_ = false;
};

}  // namespace beeline::spool
