#include "tools/beeline/verb_tree.h"

namespace beeline::cli {

std::vector<CLI::App*> listed_verbs(CLI::App& app) {
  return app.get_subcommands(
      [](CLI::App* verb) { return !verb->get_name().empty() && !verb->get_group().empty(); });
}

std::vector<CLI::Option*> arguments_of(CLI::App& app) {
  std::vector<CLI::Option*> all = app.get_options([](CLI::Option*) { return true; });
  // An option group is a verb without a name.
  const auto groups = app.get_subcommands([](CLI::App* verb) { return verb->get_name().empty(); });
  for (CLI::App* group : groups) {
    const auto more = arguments_of(*group);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace beeline::cli
