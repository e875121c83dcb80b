// doctor: whether this machine can hold a hive.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shm/directory.h"
#include "src/control/hive_paths.h"
#include "src/control/hive_place.h"
#include "src/os/kernel.h"
#include "src/os/process.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// Home, status page, directory, eventfd, epoll and control socket; for each peer a link each way,
// its status page and its eventfd.
constexpr std::uint64_t kFdsOfAnAgent = 6;
constexpr std::uint64_t kFdsOfAPeer = 4;
constexpr std::uint64_t kLeastPeers = 60;  // a parent of some size

struct Finding {
  std::string what;
  bool good = false;
  std::string text;
};

Finding kernel_finding(const os::KernelFact& fact) {
  std::string text = fmt::format("for {}", fact.needed_for);
  if (fact.missing) {
    text +=
        fmt::format("; {}{}", os::is_known(*fact.missing) ? "" : "not known: ", fact.missing->text);
  }
  return {std::string(fact.name), !fact.missing, text};
}

std::string count_text(std::uint64_t limit) {
  return limit == os::kNoFdLimit ? "no limit" : fmt::format("{}", limit);
}

// Coordinators and agents raise the soft limit to the hard one.
Finding files_finding() {
  const os::FdLimit limit = os::fd_limit();
  const std::uint64_t left = limit.hard > kFdsOfAnAgent ? limit.hard - kFdsOfAnAgent : 0;
  const std::uint64_t peers = std::min<std::uint64_t>(left / kFdsOfAPeer, shm::kMaxAgents);
  std::string text = fmt::format("{} for each process ({} at most): an agent can have {} peers",
                                 count_text(limit.soft), count_text(limit.hard), peers);
  if (peers < kLeastPeers) text += "; raise the hard limit of open files";
  return {"open_files", peers >= kLeastPeers, text};
}

Finding directory_finding(const Context& context) {
  const auto paths = control::find_hive(context.hive);
  if (!paths) return {"directory", false, paths.error().text};
  if (const auto good = control::check_directory(*paths); !good) {
    return {"directory", false, good.error().text};
  }
  const auto hive = control::connect_to_hive(*paths);
  if (!hive && hive.error().code == ErrorCode::kDenied) {
    return {"directory", false, hive.error().text};
  }
  return {"directory", true, fmt::format("the files of the hive lie in {}", paths->directory)};
}

ExitCode doctor(const Context& context) {
  std::vector<Finding> findings;
  for (const os::KernelFact& fact : os::probe_kernel()) findings.push_back(kernel_finding(fact));
  findings.push_back(files_finding());
  findings.push_back(directory_finding(context));
  bool all_good = true;
  Table table({"CHECK", "", ""});
  Json json = Json::array();
  for (const Finding& finding : findings) {
    all_good &= finding.good;
    table.add({finding.what, finding.good ? "ok" : "MISSING", finding.text});
    json.push_back({{"check", finding.what}, {"ok", finding.good}, {"text", finding.text}});
  }
  if (context.json) {
    print_json(json);
  } else {
    print(table.text());
  }
  return all_good ? ExitCode::kOk : ExitCode::kError;
}

}  // namespace

void add_doctor_verb(CLI::App& app, Context& context) {
  auto* verb = app.add_subcommand("doctor", "Check whether this machine can hold a hive");
  verb->footer(
      "Examples:\n"
      "  beeline doctor\n"
      "  beeline doctor --json | jq -r '.[] | select(.ok | not) | .check'\n"
      "Asks the kernel for all that a hive needs, and looks at limits and says where the files\n"
      "of the hive are. Starts nothing. Exits with 1 if something is missing.");
  verb->callback([&context] { context.exit = doctor(context); });
}

}  // namespace beeline::cli
