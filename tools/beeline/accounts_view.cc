#include "tools/beeline/accounts_view.h"

#include <fmt/format.h>

#include "tools/beeline/survey_view.h"

namespace beeline::cli {

std::string balance_text(const Account& account) {
  if (!account.is_readable()) return std::string(kUnreadable);
  if (account.balanced()) return "ok";
  if (account.moving) return "moving";
  const std::uint64_t accounted = account.accounted();
  return account.accepted > accounted ? fmt::format("{} MISSING", account.accepted - accounted)
                                      : fmt::format("{} TOO MANY", accounted - account.accepted);
}

std::string accounts_text(const HiveAccounts& accounts) {
  if (accounts.inboxes.empty()) return {};
  Table table({"agent", ">pid", "state", ">accepted", ">in lanes", ">queued", ">tasks", ">leased",
               ">done", ">dead", "balance"});
  for (const Account& account : accounts.inboxes) {
    const auto number = [&](std::uint64_t count) {
      return account.is_readable() ? grouped(count) : "?";
    };
    table.add({account.name, fmt::format("{}", account.pid), std::string(to_string(account.state)),
               number(account.accepted), number(account.in_lanes), number(account.queued),
               number(account.tasks), number(account.leased), number(account.done),
               number(account.dead + account.purged), balance_text(account)});
  }
  return table.text();
}

Json account_json(const Account& account) {
  Json json;
  json["accepted"] = account.accepted;
  json["in_lanes"] = account.in_lanes;
  json["drained"] = account.accepted - account.in_lanes;
  json["queued"] = account.queued;
  json["tasks"] = account.tasks;
  json["leased"] = account.leased;
  json["done"] = account.done;
  json["dead"] = account.dead;
  json["purged"] = account.purged;
  json["balanced"] = account.balanced();
  json["moving"] = account.moving;
  if (account.is_readable()) return json;
  for (auto& [key, value] : json.items()) value = nullptr;
  return json;
}

}  // namespace beeline::cli
