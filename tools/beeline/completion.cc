#include "tools/beeline/completion.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "src/control/agent_info.h"
#include "src/control/hive_search.h"
#include "tools/beeline/options.h"
#include "tools/beeline/verb_tree.h"
#include "tools/beeline/verbs.h"

namespace beeline::cli {
namespace {

// A person is waiting for the completion.
constexpr std::chrono::nanoseconds kPersonWaits = std::chrono::milliseconds(300);

bool has_check(CLI::Option& option, const std::string& name) {
  try {
    return option.get_validator(name) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

// Follows the words of a command line.
class Reader {
 public:
  explicit Reader(CLI::App& app) : app_(app), verb_(&app) {}

  void read(const std::string& word) {
    if (pending_ != nullptr) {
      if (has_check(*pending_, "hive")) hive_ = word;
      pending_ = nullptr;
    } else if (!is_plain_ && word == "--") {
      is_plain_ = true;
    } else if (is_option(word)) {
      CLI::Option* const option = find_option(word);
      if (option != nullptr && option->get_items_expected_max() > 0) pending_ = option;
    } else if (CLI::App* const verb = find_verb(word); verb != nullptr && !is_plain_) {
      verb_ = verb;
    } else {
      ++positionals_;
    }
  }

  [[nodiscard]] std::vector<Candidate> next(const std::string& begun) {
    if (pending_ != nullptr) return values(*pending_);
    if (is_option(begun)) return options();
    std::vector<Candidate> verbs;
    for (CLI::App* verb : listed_verbs(*verb_)) {
      verbs.push_back({verb->get_name(), verb->get_description()});
    }
    if (!verbs.empty()) return verbs;
    CLI::Option* const positional = find_positional();
    return positional != nullptr ? values(*positional) : verbs;
  }

 private:
  [[nodiscard]] bool is_option(const std::string& word) const {
    return !is_plain_ && word.starts_with('-');
  }

  CLI::App* find_verb(const std::string& word) {
    const auto verbs =
        verb_->get_subcommands([&](CLI::App* verb) { return verb->get_name() == word; });
    return verbs.empty() || word.empty() ? nullptr : verbs.front();
  }

  // The options of the verb and of the program; options of the program may stand behind the verb.
  std::vector<CLI::Option*> all_options() {
    std::vector<CLI::Option*> all = arguments_of(*verb_);
    if (verb_ == &app_) return all;
    for (CLI::Option* option : arguments_of(app_)) {
      const bool known = std::any_of(all.begin(), all.end(), [option](const CLI::Option* other) {
        return other->get_name() == option->get_name();
      });
      if (!known) all.push_back(option);
    }
    return all;
  }

  CLI::Option* find_option(const std::string& word) {
    const auto all = all_options();
    const auto found = std::find_if(all.begin(), all.end(), [&word](const CLI::Option* option) {
      return option->check_name(word);
    });
    return found == all.end() ? nullptr : *found;
  }

  // The positional argument that the next word fills; the last one takes all further words.
  CLI::Option* find_positional() {
    std::vector<CLI::Option*> all = arguments_of(*verb_);
    std::erase_if(all, [](const CLI::Option* option) { return !option->get_positional(); });
    if (positionals_ < all.size()) return all[positionals_];
    const bool takes_all = !all.empty() && all.back()->get_items_expected_max() > 1;
    return takes_all ? all.back() : nullptr;
  }

  std::vector<Candidate> options() {
    std::vector<Candidate> found;
    for (const CLI::Option* option : all_options()) {
      for (const std::string& name : option->get_lnames()) {
        found.push_back({"--" + name, option->get_description()});
      }
    }
    return found;
  }

  std::vector<Candidate> values(CLI::Option& option) {
    if (has_check(option, "agent")) return agents();
    if (has_check(option, "hive")) return hives();
    if (option.check_name("--rank")) return words_of(rank_words());
    if (auto words = choices_of(option); !words.empty()) return words;
    std::vector<Candidate> verbs;
    if (has_check(option, "verb")) {
      for (CLI::App* verb : listed_verbs(app_)) {
        verbs.push_back({verb->get_name(), verb->get_description()});
      }
    }
    return verbs;
  }

  // The words that the option takes, as its type in the help names them: TEXT:{one,other}.
  static std::vector<Candidate> choices_of(const CLI::Option& option) {
    std::vector<Candidate> found;
    const std::string type = option.get_type_name();
    const std::size_t open = type.find(":{");
    const std::size_t close = type.find('}', open == std::string::npos ? type.size() : open);
    if (close == std::string::npos) return found;
    std::istringstream words(type.substr(open + 2, close - open - 2));
    for (std::string word; std::getline(words, word, ',');) found.push_back({word, ""});
    return found;
  }

  template <typename Words>
  static std::vector<Candidate> words_of(const Words& words) {
    std::vector<Candidate> found;
    for (const auto& word : words) found.push_back({std::string(word), ""});
    return found;
  }

  [[nodiscard]] std::vector<Candidate> agents() const {
    Context context;
    context.hive = hive_;
    context.timeout = kPersonWaits;
    auto client = connect_to_look(context);
    const auto listed = client ? client->list_all() : Result<std::vector<control::ListedAgent>>({});
    if (!listed) return {};
    std::vector<Candidate> found;
    for (const AgentInfo& agent : control::infos_of(*listed)) {
      if (agent.state == State::kDead || agent.role == "kernel") continue;
      found.push_back({agent.name, fmt::format("{}, {}", agent.role, to_string(agent.state))});
    }
    return found;
  }

  static std::vector<Candidate> hives() {
    std::vector<Candidate> found;
    for (const control::FoundHive& hive : control::find_hives()) {
      found.push_back({hive.hive, hive.directory});
    }
    return found;
  }

  CLI::App& app_;
  CLI::App* verb_;
  CLI::Option* pending_ = nullptr;  // the option that takes the next word as its value
  bool is_plain_ = false;           // behind "--"
  std::size_t positionals_ = 0;
  std::string hive_;
};

}  // namespace

std::vector<Candidate> complete(CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  Reader reader(app);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) reader.read(words[i]);
  std::vector<Candidate> found = reader.next(words.back());
  std::erase_if(found,
                [&words](const Candidate& each) { return !each.word.starts_with(words.back()); });
  return found;
}

}  // namespace beeline::cli
