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

// The number of letters to insert, delete or change to turn `a` into `b`.
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

// The candidate that is most like `word`; empty if none is similar.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::size_t least = std::min<std::size_t>(2, word.size() / 2) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    found = candidate;
  }
  return found;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  }
  return names;
}

// The options of `verb`, of its option groups and of its parent verbs.
std::vector<std::string> options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  const auto add = [&names](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  for (const CLI::App* app = &verb; app != nullptr; app = app->get_parent()) add(*app);
  for (const CLI::App* group : verb.get_subcommands([](const CLI::App*) { return true; })) {
    if (group->get_name().empty()) add(*group);
  }
  return names;
}

// The last verb of the command line, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().back();
  return *last;
}

// The verbs of the command line, a blank before each.
std::string path_to(const CLI::App& app) {
  std::string path;
  for (const CLI::App* last = &app; !last->get_subcommands().empty();) {
    last = last->get_subcommands().back();
    path += ' ' + last->get_name();
  }
  return path;
}

// Names the problem and the next step.
std::string problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = innermost(app);
  const std::string path = path_to(app);
  const std::string& program = app.get_name();
  const bool has_verbs = app.get_require_subcommand_min() != 0;
  const std::string advice = has_verbs ? fmt::format("see `{} help{}`", program, path)
                                       : fmt::format("see `{} --help`", program);
  const bool is_about_words =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) ||
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_about_words) return fmt::format("{}; {}", error.what(), advice);
  const auto guess = [&](const std::string& like) {
    return like.empty() ? "" : fmt::format("did you mean `{}{} {}`? ", program, path, like);
  };
  const std::vector<std::string> rest = app.remaining(true);
  for (const std::string& word : rest) {
    if (!word.starts_with("--") || word.size() == 2) continue;
    const std::string option = word.substr(0, word.find('='));
    return fmt::format("there is no option `{}`; {}{}", option,
                       guess(nearest(option, options_of(verb))), advice);
  }
  if (verb.get_require_subcommand_min() == 0) return fmt::format("{}; {}", error.what(), advice);
  const auto word = std::find_if(rest.begin(), rest.end(), [](const std::string& each) {
    return !each.empty() && each.front() != '-';
  });
  if (word == rest.end()) return fmt::format("a verb is missing; {}", advice);
  return fmt::format("there is no verb `{}{}`; {}{}", path.empty() ? "" : path.substr(1) + ' ',
                     *word, guess(nearest(*word, verbs_of(verb))), advice);
}

}  // namespace

std::string guess_verb(const CLI::App& app, const std::string& path, const std::string& word) {
  const std::string like = nearest(word, verbs_of(app));
  return like.empty() ? "" : fmt::format("did you mean `{} {}`? ", path, like);
}

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const ExitMeaning& each : kExitMeanings) {
    text += fmt::format("  {}  {:<14}  {}\n", static_cast<int>(each.code), each.word, each.meaning);
  }
  return text;
}

bool wants_json(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end;
}

ExitCode end_unparsed(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) != 0) return complain(ExitCode::kUsage, problem(app, error));
  print(out.str());
  return finish_output(ExitCode::kOk);
}

}  // namespace beeline::cli
