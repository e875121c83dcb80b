#include "tools/beeline/man_page.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <beeline/version.h>

#include "tools/beeline/verb_tree.h"

namespace beeline::cli {
namespace {

// Text that begins no request, every character printed as it is.
std::string plain(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string as_it_is(std::string_view text) {
  if (text.empty()) return "";
  while (text.ends_with('\n')) text.remove_suffix(1);
  return fmt::format(".PP\n.nf\n{}\n.fi\n", plain(text));
}

std::string option_text(const CLI::Option& option) {
  const bool is_positional = option.get_positional();
  std::string value;
  if (!is_positional && option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    value = " \\fI" + plain(type.substr(0, type.find(':'))) + "\\fR";
  }
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(option.get_name(is_positional, true)), value,
                     plain(option.get_description()));
}

std::string options_text(CLI::App& verb) {
  std::string text;
  for (const CLI::Option* option : arguments_of(verb)) {
    if (option->get_name() == "--help" && verb.get_parent() != nullptr) continue;
    text += option_text(*option);
  }
  return text;
}

void add_verbs(std::string& page, CLI::App& app, const std::string& path) {
  for (CLI::App* verb : listed_verbs(app)) {
    const std::string name = path + ' ' + verb->get_name();
    std::string usage = name;
    for (const CLI::Option* option : arguments_of(*verb)) {
      if (option->get_positional()) usage += ' ' + option->get_name(true);
    }
    page += fmt::format(".SS {}\n{}.\n{}{}", plain(usage), plain(verb->get_description()),
                        options_text(*verb), as_it_is(verb->get_footer()));
    add_verbs(page, *verb, name);
  }
}

}  // namespace

std::string man_page(CLI::App& app) {
  std::string page = fmt::format(
      ".TH BEELINE 1 \"\" \"beeline {}\" \"User Commands\"\n"
      ".SH NAME\nbeeline \\- messages for trees of agent processes on one host\n"
      ".SH SYNOPSIS\n\\fBbeeline\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH OPTIONS\n{}{}",
      kVersion, options_text(app), as_it_is(app.get_footer()));
  page += ".SH VERBS\n";
  add_verbs(page, app, app.get_name());
  return page;
}

}  // namespace beeline::cli
