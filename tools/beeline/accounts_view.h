#pragma once

// Accounts as `beeline` shows them.

#include <string>

#include "tools/beeline/accounts.h"
#include "tools/beeline/output.h"

namespace beeline::cli {

/// "ok", "moving", "unreadable", or by how many messages it does not add up.
[[nodiscard]] std::string balance_text(const Account& account);

/// A table with a line for each inbox; empty if there is none.
[[nodiscard]] std::string accounts_text(const HiveAccounts& accounts);

/// The numbers of one account, without name, pid and state; each is null where it is unreadable.
[[nodiscard]] Json account_json(const Account& account);

}  // namespace beeline::cli
