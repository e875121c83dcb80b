// completion: scripts that complete the words of a command line in a shell.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/completion.h"
#include "tools/beeline/output.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// Each script asks `beeline complete`, which prints a line for each candidate: the word, a tab, and
// its description. If there is no candidate, the shell offers files.

constexpr std::string_view kBash = R"sh(# bash completion for beeline
_beeline() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$(printf %q "${line%%$'\t'*}")")
  done < <("${COMP_WORDS[0]/#\~/$HOME}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _beeline beeline
)sh";

constexpr std::string_view kZsh = R"sh(#compdef beeline
_beeline() {
  local -a found
  local line
  for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#found )); then _describe beeline found; else _files; fi
}
if [[ $funcstack[1] == _beeline ]]; then _beeline "$@"; else compdef _beeline beeline; fi
)sh";

constexpr std::string_view kFish = R"sh(# fish completion for beeline
function __beeline_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  command $words[1] complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c beeline -f -a '(__beeline_complete)'
)sh";

ExitCode print_script(const std::string& shell) {
  print(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return ExitCode::kOk;
}

ExitCode print_candidates(CLI::App& app, const std::vector<std::string>& words) {
  std::string text;
  for (const Candidate& each : complete(app, words)) {
    text += fmt::format("{}\t{}\n", each.word, each.about);
  }
  print(text);
  return ExitCode::kOk;
}

}  // namespace

void add_completion_verbs(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  auto* script =
      app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  script->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
  script->footer(
      "Examples:\n"
      "  source <(beeline completion bash)\n"
      "  beeline completion zsh > \"${fpath[1]}/_beeline\"\n"
      "  beeline completion fish > ~/.config/fish/completions/beeline.fish\n"
      "Completes verbs, options, and the names of agents and hives; never starts a hive. An\n"
      "installed Beeline has brought them.");
  script->callback([&context, shell] { context.exit = print_script(*shell); });

  auto words = std::make_shared<std::vector<std::string>>();
  auto* complete_verb = app.add_subcommand("complete", "Answer the scripts of `completion`");
  complete_verb->group("");  // not listed
  complete_verb->add_option("WORDS", *words, "The words up to the one that is completed");
  complete_verb->callback(
      [&app, &context, words] { context.exit = print_candidates(app, *words); });
}

}  // namespace beeline::cli
