#pragma once

#include <utility>

#include <beeline/c/message.h>
#include <beeline/message.h>

#include "src/c/dependents.h"

// Memory that the caller was lent.
struct beeline_loan final : public beeline::c::Dependent {
 public:
  beeline_loan(beeline::c::Dependents& owner, beeline_agent& lender, beeline::Loan lent)
      : Dependent(owner), agent(lender), loan(std::move(lent)) {}

  beeline_agent& agent;  // unless it is an orphan
  beeline::Loan loan;

 private:
  void end() override { loan = beeline::Loan(); }
};
