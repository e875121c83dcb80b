#include "tools/beeline/process_view.h"

#include <fmt/format.h>

namespace beeline::cli {

std::string exit_text(const ChildExit& end) {
  if (!end.known) return "unknown";
  return end.signal != 0 ? fmt::format("signal {}", end.signal)
                         : fmt::format("exit {}", end.exit_code);
}

Json exit_json(const ChildExit& end) {
  Json json{{"pid", end.pid},
            {"exit_code", end.exit_code},
            {"signal", end.signal},
            {"known", end.known},
            {"reason", end.reason}};
  set_text(json, "output", end.output);
  return json;
}

std::string children_text(const std::vector<ChildInfo>& children) {
  Table table(
      {">pid", "name", ">parent", "role", "tier", "state", ">os pid", ">restarts", "last end"});
  for (const ChildInfo& child : children) {
    table.add({fmt::format("{}", child.pid), child.name, fmt::format("{}", child.parent),
               child.role, child.tier, child.state,
               child.os_pid != 0 ? fmt::format("{}", child.os_pid) : "-",
               fmt::format("{}", child.restarts),
               child.end ? fmt::format("{}: {}", exit_text(*child.end), child.end->reason) : ""});
  }
  return table.text();
}

Json children_json(const std::vector<ChildInfo>& children) {
  Json list = Json::array();
  for (const ChildInfo& child : children) {
    list.push_back({{"pid", child.pid},
                    {"parent", child.parent},
                    {"name", child.name},
                    {"role", child.role},
                    {"tier", child.tier},
                    {"model", child.model},
                    {"state", child.state},
                    {"restart", child.restart},
                    {"os_pid", child.os_pid != 0 ? Json(child.os_pid) : Json(nullptr)},
                    {"restarts", child.restarts},
                    {"started_unix_ms", child.started_unix_ns / 1'000'000},
                    {"log", child.log},
                    {"end", child.end ? exit_json(*child.end) : Json(nullptr)}});
  }
  return list;
}

}  // namespace beeline::cli
