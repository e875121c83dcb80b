#include "tools/beeline/usage.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/output.h"

namespace beeline::cli {
namespace {

/// How many letters have to be put, taken out or changed to make the one of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({row[k] + 1, row[k + 1] + 1, changed});
    }
  }
  return row.back();
}

/// The verb of `app` that is most like `word`; empty if none is.
std::string nearest_verb(const CLI::App& app, const std::string& word) {
  std::size_t least = std::min<std::size_t>(2, word.size() / 2) + 1;
  std::string nearest;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t found = distance(word, verb->get_name());
    if (verb->get_group().empty() || found >= least) continue;
    least = found;
    nearest = verb->get_name();
  }
  return nearest;
}

/// The verb that was read last, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().back();
  return *last;
}

/// What is wrong, and what to do next.
std::string problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(app);
  const std::string path = &verb == &app ? "" : verb.get_name() + ' ';
  const std::string advice = fmt::format("see `beeline help{}{}`", path.empty() ? "" : " ",
                                         path.substr(0, path.size() - (path.empty() ? 0 : 1)));
  if (verb.get_require_subcommand_min() == 0) return fmt::format("{}; {}", error.what(), advice);
  const std::vector<std::string> rest = app.remaining(true);
  const auto word = std::find_if(rest.begin(), rest.end(), [](const std::string& each) {
    return !each.empty() && each.front() != '-';
  });
  const bool is_about_verb =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) ||
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_about_verb) return fmt::format("{}; {}", error.what(), advice);
  if (word == rest.end()) return fmt::format("a verb is missing; {}", advice);
  const std::string nearest = nearest_verb(verb, *word);
  const std::string guess =
      nearest.empty() ? "" : fmt::format("did you mean `beeline {}{}`? ", path, nearest);
  return fmt::format("there is no verb `{}{}`; {}{}", path, *word, guess, advice);
}

}  // namespace

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const ExitMeaning& each : kExitMeanings) {
    text += fmt::format("  {}  {:<14}  {}\n", static_cast<int>(each.code), each.word, each.meaning);
  }
  return text;
}

ExitCode end_unparsed(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) != 0) return complain(ExitCode::kUsage, problem(app, error));
  print(out.str());
  return finish_output(ExitCode::kOk);
}

}  // namespace beeline::cli
