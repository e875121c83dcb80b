// doctor: whether this machine can hold a hive.

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/control/hive_paths.h"
#include "src/control/hive_place.h"
#include "src/os/kernel.h"
#include "tools/beeline/finding.h"
#include "tools/beeline/output.h"
#include "tools/beeline/start_trial.h"
#include "tools/beeline/surroundings.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

using Level = Finding::Level;

Finding kernel_finding(const os::KernelFact& fact) {
  std::string text = fmt::format("for {}", fact.needed_for);
  if (fact.missing) {
    text +=
        fmt::format("; {}{}", os::is_known(*fact.missing) ? "" : "not known: ", fact.missing->text);
  }
  return {std::string(fact.name), fact.missing ? Level::kFailed : Level::kOk, text};
}

std::string_view word_for(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kFailed:
      return "FAILED";
  }
  return "FAILED";
}

// The directory, and all that the start of a hive does in it.
std::vector<Finding> directory_findings(const control::HivePaths& paths, bool kernel_is_good) {
  if (const auto good = control::check_directory(paths); !good) {
    return {{"directory", Level::kFailed, good.error().text}};
  }
  const auto hive = control::connect_to_hive(paths);
  if (!hive && hive.error().code == ErrorCode::kDenied) {
    return {{"directory", Level::kFailed, hive.error().text}};
  }
  struct stat found {};
  const bool is_there = ::stat(paths.directory.c_str(), &found) == 0;
  if (is_there && found.st_uid != ::geteuid()) {
    return {{"directory", Level::kOk,
             fmt::format("a hive of uid {} lies in {}: it is joined, not started", found.st_uid,
                         paths.directory)}};
  }
  if (kernel_is_good) return try_start(paths);
  return {{"directory", Level::kOk,
           fmt::format("the files of the hive would lie in {}", paths.directory)}};
}

ExitCode doctor(const Context& context) {
  std::vector<Finding> findings;
  bool kernel_is_good = true;
  for (const os::KernelFact& fact : os::probe_kernel()) {
    findings.push_back(kernel_finding(fact));
    kernel_is_good = kernel_is_good && !fact.missing;
  }
  if (const auto paths = control::find_hive(context.hive)) {
    for (auto& finding : look_at_surroundings(*paths)) findings.push_back(std::move(finding));
    // This comes last because it changes the environment.
    for (auto& finding : directory_findings(*paths, kernel_is_good)) {
      findings.push_back(std::move(finding));
    }
  } else {
    findings.push_back({"directory", Level::kFailed, paths.error().text});
  }
  bool all_good = true;
  Table table({"CHECK", "", ""});
  Json json = Json::array();
  for (const Finding& finding : findings) {
    const bool good = finding.level != Level::kFailed;
    all_good &= good;
    table.add({finding.check, std::string(word_for(finding.level)), finding.text});
    json.push_back({{"check", finding.check},
                    {"ok", good},
                    {"warning", finding.level == Level::kWarning},
                    {"text", finding.text}});
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
      "Asks the kernel for all that a hive needs and looks at limits. Then it tries a start:\n"
      "it runs a hive of its own next to the hive's files, sends one message in it, and ends\n"
      "it at once. Exits with 1 if a start would fail; a warning names the part that would\n"
      "work badly.");
  verb->callback([&context] { context.exit = doctor(context); });
}

}  // namespace beeline::cli
