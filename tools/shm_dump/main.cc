// shm-dump: shows, checks and saves the segments of a hive. It reads and never maps or writes them.

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "src/control/client.h"
#include "src/look/segment_name.h"
#include "src/os/error.h"
#include "src/os/process.h"
#include "tools/beeline/options.h"
#include "tools/beeline/output.h"
#include "tools/beeline/usage.h"
#include "tools/shm_dump/dump.h"
#include "tools/shm_dump/explain.h"
#include "tools/shm_dump/text.h"

// This follows beeline/result.h, because its enumerator kVersion would shadow the constant.
#include <beeline/version.h>

namespace beeline::dump {
namespace {

using cli::complain;
using cli::ExitCode;
using cli::print;

constexpr const char* kExamples = R"(Examples:
  shm-dump                              a line for each segment of the hive, and their sum
  shm-dump worker                       all that the agent "worker" owns and reads, in detail
  shm-dump link-7-1000-1-9              one segment in detail, named as in the table
  shm-dump --full                       all segments in detail
  shm-dump worker --all                 also the messages that were taken and still lie there
  shm-dump --explain                    what each column and each word means
  shm-dump --verify                     walk all invariants; exit 1 names the first broken one
  shm-dump --save /tmp/case             keep sparse copies of all segments
  shm-dump /tmp/case/*.segment --json   show saved copies as one JSON document
  shm-dump --verify --at-rest FILE      saved from an owner that was idle: check its index, too
  shm-dump --layout                     offsets and sizes of every struct

A WHAT with a slash, or that ends with .segment, is a saved file. --json gives an array with a
member for each segment, always in detail; its errors are JSON, too.
Payloads and names of messages appear in the output: treat it as you would treat the messages.
Exit codes, as of beeline: 0 done; 1 error, also a broken invariant with --verify and an output
that was not written; 2 usage; 3 no such hive; 4 no such segment or agent; 7 denied.)";

struct Options {
  std::string hive;
  std::vector<std::string> what;
  std::vector<std::string> agents;
  std::string save;
  bool json = false;
  bool full = false;
  bool all = false;
  bool explain = false;
  bool layout = false;
  bool verify = false;
  bool at_rest = false;
};

bool is_file(std::string_view what) {
  return what.find('/') != std::string_view::npos || what.ends_with(kSavedSuffix);
}

std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<std::vector<Source>> sources_of(const Options& options) {
  std::vector<Source> sources;
  for (const std::string& what : options.what) {
    if (is_file(what)) sources.push_back(saved_file(what));
  }
  if (sources.empty()) return find_segments(options.hive);
  if (options.hive.empty()) return sources;
  return fail(ErrorCode::kInvalid,
              fmt::format("{} is a saved file, which no hive is asked for: leave out --hive",
                          sources.front().path));
}

// The loaded segments, and the first failure among the others.
struct Loaded {
  std::vector<Segment> segments;
  ExitCode status = ExitCode::kOk;
};

// Sorted by kind, owner, incarnation and serial.
bool shown_before(const Segment& a, const Segment& b) {
  const auto key = [](const Segment& segment) {
    const std::string_view name = short_segment_name(segment.source.name);
    return std::tuple(name.substr(0, name.find('-')), segment.owner_pid(), segment.incarnation(),
                      segment.serial());
  };
  return key(a) < key(b);
}

// Read links before homes: a message that moves from a lane into an inbox meanwhile is then seen
// once.
Loaded load_all(const std::vector<Source>& sources) {
  Loaded loaded;
  const auto load = [&](bool is_link) {
    for (const Source& source : sources) {
      if (short_segment_name(source.name).starts_with("link-") != is_link) continue;
      auto segment = load_segment(source);
      if (segment) {
        loaded.segments.push_back(std::move(*segment));
      } else if (segment.error().code != ErrorCode::kClosed) {
        // If the holder of a segment ended meanwhile, that is no error: hives change while we look.
        const ExitCode code = complain(segment.error());
        if (loaded.status == ExitCode::kOk) loaded.status = code;
      }
    }
  };
  load(true);
  load(false);
  std::stable_sort(loaded.segments.begin(), loaded.segments.end(), shown_before);
  return loaded;
}

// Asks the coordinator which links still count. Without its answer, every link counts that no home
// knows.
void ask_for_links(Segments& all, const std::string& hive) {
  std::set<std::uint32_t> readers;
  for (const Segment& segment : all.all()) {
    if (segment.kind() == shm::SegmentKind::kLink && !all.runs(segment)) {
      readers.insert(segment.peer_pid());
    }
  }
  if (readers.empty()) return;
  auto client = control::Client::connect({.hive = hive, .start = false});
  for (const std::uint32_t reader : readers) {
    if (!client || client->closed()) return;
    if (auto links = client->links_to(reader)) all.hear_links(reader, std::move(*links));
  }
}

// Whether an agent owns or reads a segment.
bool belongs_to(const Segment& segment, std::uint32_t pid) {
  return segment.owner_pid() == pid ||
         (segment.kind() == shm::SegmentKind::kLink && segment.peer_pid() == pid);
}

// Finds the segments that a word means: the segment of that name, or all that an agent owns or
// reads.
std::vector<const Segment*> find_named(const Segments& all, const std::string& word,
                                       bool is_agent) {
  std::vector<const Segment*> found;
  for (const Segment& segment : all.all()) {
    const std::string_view name = segment.source.name;
    if (!is_agent && (name == word || short_segment_name(name) == word)) found.push_back(&segment);
  }
  if (!found.empty()) return found;
  const std::vector<std::uint32_t> pids = all.find_agents(word);
  for (const Segment& segment : all.all()) {
    const bool is_its = std::any_of(pids.begin(), pids.end(),
                                    [&](std::uint32_t pid) { return belongs_to(segment, pid); });
    if (is_its) found.push_back(&segment);
  }
  return found;
}

// The selected segments, in the order of `all`; all of them if none is named.
Result<std::vector<const Segment*>> select(const Segments& all, const Options& options) {
  std::vector<const Segment*> selected;
  bool is_asked = false;
  const auto add = [&](const std::string& word, bool is_agent) -> Result<void> {
    is_asked = true;
    const auto found = find_named(all, word, is_agent);
    selected.insert(selected.end(), found.begin(), found.end());
    if (!found.empty()) return {};
    return fail(ErrorCode::kNoAgent,
                fmt::format("no {} '{}' among {} segments: `shm-dump` lists them, `beeline tree` "
                            "the agents; write a saved file with a slash, like ./{}",
                            is_agent ? "segment of an agent" : "segment or agent", word,
                            all.all().size(), word));
  };
  for (const std::string& word : options.what) {
    if (is_file(word)) continue;
    if (auto added = add(word, false); !added) return tl::unexpected(added.error());
  }
  for (const std::string& agent : options.agents) {
    if (auto added = add(agent, true); !added) return tl::unexpected(added.error());
  }
  if (!is_asked) {
    for (const Segment& segment : all.all()) selected.push_back(&segment);
  }
  std::sort(selected.begin(), selected.end());  // they lie in one vector
  selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
  return selected;
}

// A named segment is shown in detail.
bool wants_details(const Options& options) {
  const bool is_named = std::any_of(options.what.begin(), options.what.end(),
                                    [](const std::string& what) { return !is_file(what); });
  return options.full || options.all || options.json || is_named || !options.agents.empty();
}

ExitCode dump_all(const Segments& all, const std::vector<const Segment*>& selected,
                  const Options& options) {
  const bool in_detail = wants_details(options);
  Json list = Json::array();
  for (const Segment* segment : selected) {
    list.push_back(
        in_detail ? dump_segment(*segment, all, options.all ? Listing::kAll : Listing::kPresent)
                  : summary_of(*segment, all));
  }
  if (options.json) {
    print(document(list));
    return ExitCode::kOk;
  }
  print(table_of(list));
  if (!in_detail) return ExitCode::kOk;
  for (const Json& segment : list) print('\n' + text_of(segment));
  return ExitCode::kOk;
}

ExitCode verify_all(const std::vector<const Segment*>& selected, const Options& options) {
  Json list = Json::array();
  ExitCode status = ExitCode::kOk;
  for (const Segment* segment : selected) {
    const Json one = verify(*segment, options.at_rest);
    const bool ok = one.at("ok");
    if (!ok) status = ExitCode::kError;
    if (!options.json) {
      print(ok ? fmt::format("ok     {}\n", one.at("name").get<std::string>())
               : fmt::format("BROKEN {}: {} at offset {}: found {}, limit {}\n",
                             one.at("name").get<std::string>(),
                             one.at("invariant").get<std::string>(), one.at("where").dump(),
                             one.at("found").dump(), one.at("limit").dump()));
    }
    list.push_back(one);
  }
  if (options.json) print(document(list));
  return status;
}

ExitCode save_all(const std::vector<const Segment*>& selected, const Options& options) {
  if (::mkdir(options.save.c_str(), 0700) != 0 && errno != EEXIST) {
    return complain(os::system_error(fmt::format("cannot create {}", options.save)));
  }
  Json list = Json::array();
  for (const Segment* segment : selected) {
    const std::string path = fmt::format("{}/{}{}", options.save, segment->source.name,
                                         segment->live ? kSavedLiveSuffix : kSavedSuffix);
    const auto fd = open_source(segment->source);
    if (!fd && fd.error().code == ErrorCode::kClosed) continue;
    const auto saved = fd ? save_copy(fd->get(), path) : tl::unexpected(fd.error());
    if (!saved) return complain(saved.error());
    list.push_back(path);
    if (!options.json) print(fmt::format("saved {}\n", path));
  }
  if (options.json) print(document(list));
  return ExitCode::kOk;
}

ExitCode run(const Options& options) {
  if (options.layout || options.explain) {
    print(options.layout ? layout_text() : legend_text());
    return ExitCode::kOk;
  }
  const auto sources = sources_of(options);
  if (!sources) return complain(sources.error());
  Loaded loaded = load_all(*sources);
  Segments all(std::move(loaded.segments));
  if (std::none_of(options.what.begin(), options.what.end(), is_file)) {
    ask_for_links(all, options.hive);
  }
  if (all.all().empty() && loaded.status != ExitCode::kOk) return loaded.status;
  const auto selected = select(all, options);
  if (!selected) {
    const ExitCode code = complain(selected.error());
    return loaded.status != ExitCode::kOk ? loaded.status : code;
  }
  const ExitCode status = !options.save.empty() ? save_all(*selected, options)
                          : options.verify      ? verify_all(*selected, options)
                                                : dump_all(all, *selected, options);
  return status != ExitCode::kOk ? status : loaded.status;
}

void add_options(CLI::App& app, Options& options) {
  auto* hive =
      app.add_option("--hive", options.hive, "Name of the hive; $BEELINE_HIVE, else \"default\"")
          ->check(cli::is_agent());
  auto* what = app.add_option("WHAT", options.what,
                              "Segments or agents to show in detail; saved files, instead of a "
                              "hive");
  app.add_option("--agent", options.agents,
                 "Only segments that this agent (name or pid) owns or reads, even if a segment "
                 "has that name")
      ->check(cli::is_agent())
      ->expected(1)
      ->take_all();
  auto* full = app.add_flag("--full", options.full, "All in detail");
  auto* all = app.add_flag("--all", options.all,
                           "In detail, with messages that were taken and agents that have ended");
  auto* explain = app.add_flag("--explain", options.explain, "Print the meaning of each word");
  app.add_flag("--json", options.json, "One JSON document on stdout");
  auto* layout = app.add_flag("--layout", options.layout, "Print the golden layout");
  auto* verify_flag = app.add_flag("--verify", options.verify, "Walk the invariants");
  app.add_flag("--at-rest", options.at_rest,
               "With --verify: the owners were idle, so the order index must match, too")
      ->needs(verify_flag);
  auto* save = app.add_option("--save", options.save, "Write sparse copies into this directory")
                   ->check([](const std::string& text) {
                     return text.empty() ? "the directory is empty: name one" : std::string();
                   });
  save->excludes(verify_flag);
  for (CLI::Option* other : {full, all}) other->excludes(verify_flag)->excludes(save);
  for (CLI::Option* alone : {layout, explain}) {
    for (CLI::Option* other : {what, hive, verify_flag, save, full, all}) alone->excludes(other);
  }
  layout->excludes(explain);
}

ExitCode main_with(int argc, char** argv) {
  cli::speak_as("shm-dump");
  if (cli::wants_json(argc, argv)) cli::complain_in_json();
  Options options;
  CLI::App app(
      "Shows, checks and saves the shared-memory segments of a Beeline hive, of one agent, "
      "or of saved files. It only reads.",
      "shm-dump");
  app.footer(kExamples);
  app.set_version_flag("--version", fmt::format("shm-dump {} (layout {}.{})", kVersion,
                                                shm::kLayoutMajor, shm::kLayoutMinor));
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli::end_unparsed(app, error);
  }
  if (std::find(options.what.begin(), options.what.end(), "") != options.what.end()) {
    return complain(ExitCode::kUsage,
                    "a WHAT is empty: name a segment or an agent, or see whether a variable is "
                    "unset");
  }
  return cli::finish_output(run(options));
}

}  // namespace
}  // namespace beeline::dump

int main(int argc, char** argv) {
  using beeline::cli::ExitCode;
  // If the reader of our output has gone, or a file is at its limit, write() must return an error;
  // the signal must not end us.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  (void)std::setlocale(LC_CTYPE, "");
  if (!beeline::os::fill_standard_streams()) return static_cast<int>(ExitCode::kError);
  try {
    return static_cast<int>(beeline::dump::main_with(argc, argv));
  } catch (const std::exception& error) {
    return static_cast<int>(beeline::cli::complain(ExitCode::kError, error.what()));
  }
}
