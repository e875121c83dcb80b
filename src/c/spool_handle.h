#pragma once

#include <deque>
#include <string>
#include <utility>

#include <sys/types.h>

#include <beeline/c/spool.h>
#include <beeline/spool.h>

#include "src/c/dependents.h"

// A task folder.
struct beeline_spool {
  explicit beeline_spool(beeline::spool::Spool opened) : spool(std::move(opened)) {}

  beeline::spool::Spool spool;
  std::string text{};  // that the last call gave
  std::deque<std::string> remarks{};
  std::string remark{};
  beeline::c::Dependents dependents{};  // ends first
};

// A claimed task. Its facts stay readable after its end.
struct beeline_claim final : public beeline::c::Dependent {
 public:
  beeline_claim(beeline_spool& spool, beeline::spool::Claim claimed);
  beeline_claim(const beeline_claim&) = delete;
  beeline_claim& operator=(const beeline_claim&) = delete;
  // Puts the task back if it has not ended. A child made by fork() leaves it to its parent.
  ~beeline_claim() override;

  beeline::spool::Claim claim;
  std::string text{};

 private:
  void end() override;
  pid_t process_;
};
