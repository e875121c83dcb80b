#pragma once

// Accounts as `beeline` shows them.

#include <string>

#include "tools/beeline/accounts.h"
#include "tools/beeline/output.h"

namespace beeline::cli {

// "ok", "moving", "unreadable", or the number of messages by which it does not add up.
[[nodiscard]] std::string balance_text(const Account& account);

// A table with a line for each inbox; empty if there is none.
[[nodiscard]] std::string accounts_text(const HiveAccounts& accounts);

// The figures of one account, without name, pid and state; all are null if it is unreadable.
[[nodiscard]] Json account_json(const Account& account);

}  // namespace beeline::cli
