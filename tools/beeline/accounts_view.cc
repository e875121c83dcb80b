#include "tools/beeline/accounts_view.h"

#include <fmt/format.h>

namespace beeline::cli {

std::string balance_text(const Account& account) {
  if (account.balanced()) return "ok";
  if (account.moving) return "moving";
  const std::uint64_t accounted = account.accounted();
  return account.accepted > accounted ? fmt::format("{} MISSING", account.accepted - accounted)
                                      : fmt::format("{} TOO MANY", accounted - account.accepted);
}

std::string accounts_text(const HiveAccounts& accounts) {
  if (accounts.inboxes.empty()) return {};
  Table table({"agent", ">pid", "state", ">accepted", ">in lanes", ">queued", ">leased", ">done",
               ">dead", "balance"});
  for (const Account& account : accounts.inboxes) {
    table.add({account.name, fmt::format("{}", account.pid), std::string(to_string(account.state)),
               grouped(account.accepted), grouped(account.in_lanes), grouped(account.queued),
               grouped(account.leased), grouped(account.done),
               grouped(account.dead + account.purged), balance_text(account)});
  }
  return table.text();
}

Json account_json(const Account& account) {
  Json json;
  json["accepted"] = account.accepted;
  json["in_lanes"] = account.in_lanes;
  json["drained"] = account.accepted - account.in_lanes;
  json["queued"] = account.queued;
  json["leased"] = account.leased;
  json["done"] = account.done;
  json["dead"] = account.dead;
  json["purged"] = account.purged;
  json["balanced"] = account.balanced();
  json["moving"] = account.moving;
  return json;
}

}  // namespace beeline::cli
