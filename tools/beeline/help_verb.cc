// help, version.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <beeline/version.h>

#include "tools/beeline/man_page.h"
#include "tools/beeline/output.h"
#include "tools/beeline/usage.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// Its check exists for the completion of command lines: a validator that takes every word.
CLI::Validator is_word() {
  return {[](const std::string&) { return std::string(); }, "", "verb"};
}

ExitCode help(CLI::App& app, const std::vector<std::string>& words, bool is_man) {
  if (is_man) {
    print(man_page(app));
    return ExitCode::kOk;
  }
  if (words.size() == 1 && words.front() == "exit-codes") {
    print(exit_codes_text());
    return ExitCode::kOk;
  }
  CLI::App* about = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    const auto verbs =
        about->get_subcommands([&](CLI::App* verb) { return verb->get_name() == word; });
    if (verbs.empty()) {
      return complain(ExitCode::kUsage,
                      fmt::format("there is no verb \"{}\" to explain; {}see `beeline help`", word,
                                  guess_verb(*about, "beeline help" + path.substr(7), word)));
    }
    about = verbs.front();
    path += ' ' + word;
  }
  print(about->get_formatter()->make_help(about, path, CLI::AppFormatMode::Normal));
  return ExitCode::kOk;
}

ExitCode version(const Context& context) {
  if (context.json) {
    print_json({{"version", kVersion}});
  } else {
    print(fmt::format("beeline {}\n", kVersion));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_help_verbs(CLI::App& app, Context& context) {
  auto* help_verb = app.add_subcommand("help", "Explain a verb, or list all verbs");
  auto words = std::make_shared<std::vector<std::string>>();
  auto is_man = std::make_shared<bool>(false);
  auto* verb =
      help_verb->add_option("VERB", *words, "The verb, or exit-codes; all verbs if not given")
          ->check(is_word());
  help_verb->add_flag("--man", *is_man, "All verbs as a manual page, for `man -l`")->excludes(verb);
  help_verb->footer(
      "Examples:\n"
      "  beeline help\n"
      "  beeline help send\n"
      "  beeline help dlq requeue\n"
      "  beeline help exit-codes\n"
      "  beeline help --man | man -l -");
  help_verb->callback(
      [&app, &context, words, is_man] { context.exit = help(app, *words, *is_man); });

  auto* version_verb = app.add_subcommand("version", "Print the version");
  version_verb->footer("Examples:\n  beeline version\n  beeline version --json");
  version_verb->callback([&context] { context.exit = version(context); });
}

}  // namespace beeline::cli
