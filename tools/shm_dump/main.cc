// shm-dump: shows, checks and saves the segments of a hive. It reads and never maps or writes them.

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "src/os/error.h"
#include "src/os/process.h"
#include "tools/shm_dump/dump.h"
#include "tools/shm_dump/text.h"

// After beeline/result.h, whose enumerator kVersion would shadow the constant.
#include <beeline/version.h>

namespace beeline::dump {
namespace {

enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,  ///< also: an invariant is broken
  kExitUsage = 2,
  kExitNoHive = 3,
  kExitNoAgent = 4,
  kExitDenied = 7,
};

constexpr const char* kExamples = R"(Examples:
  shm-dump                              all segments of the hive $BEELINE_HIVE or "default"
  shm-dump --hive build --agent worker  what the agent "worker" owns and reads, by name or pid
  shm-dump --verify                     walk all invariants; exit 1 names the first broken one
  shm-dump --save /tmp/case             keep sparse copies of all segments
  shm-dump /tmp/case/*.segment --json   show saved copies as one JSON document
  shm-dump --verify --at-rest FILE      saved from an owner that was idle: check its index, too
  shm-dump --layout                     offsets and sizes of every struct

Exit codes: 0 ok, 1 error or broken invariant, 2 usage, 3 no such hive, 4 no such agent, 7 denied.
Payloads and names of messages appear in the output: treat it as you would treat the messages.)";

struct Options {
  std::string hive;
  std::string agent;
  std::vector<std::string> files;
  std::string save;
  bool json = false;
  bool layout = false;
  bool verify = false;
  bool at_rest = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void complain(const std::string& text) { fmt::print(stderr, "shm-dump: {}\n", text); }

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNoCoordinator:
      return kExitNoHive;
    case ErrorCode::kDenied:
      return kExitDenied;
    case ErrorCode::kNoAgent:
      return kExitNoAgent;
    case ErrorCode::kInvalid:
      return kExitUsage;
    default:
      return kExitError;
  }
}

std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<std::vector<Source>> sources_of(const Options& options) {
  if (options.files.empty()) return find_segments(options.hive);
  std::vector<Source> sources;
  for (const std::string& file : options.files) sources.push_back(saved_file(file));
  return sources;
}

/// What was loaded, and what the first failure among the rest was.
struct Loaded {
  std::vector<Segment> segments;
  int status = kExitOk;
};

Loaded load_all(const std::vector<Source>& sources) {
  Loaded loaded;
  for (const Source& source : sources) {
    auto segment = load_segment(source);
    if (segment) {
      loaded.segments.push_back(std::move(*segment));
    } else if (segment.error().code != ErrorCode::kClosed) {
      // A segment whose holder ended meanwhile is no error: hives change while we look.
      complain(segment.error().text);
      if (loaded.status == kExitOk) loaded.status = exit_code(segment.error());
    }
  }
  return loaded;
}

Result<std::vector<const Segment*>> select(const Segments& all, const std::string& agent) {
  std::vector<const Segment*> selected;
  if (agent.empty()) {
    for (const Segment& segment : all.all()) selected.push_back(&segment);
    return selected;
  }
  const std::vector<std::uint32_t> pids = all.find_agents(agent);
  for (const Segment& segment : all.all()) {
    const bool is_link = segment.kind() == shm::SegmentKind::kLink;
    for (const std::uint32_t pid : pids) {
      const bool owns =
          segment.kind() != shm::SegmentKind::kDirectory && segment.owner_pid() == pid;
      if (owns || (is_link && segment.peer_pid() == pid)) {
        selected.push_back(&segment);
        break;
      }
    }
  }
  if (!selected.empty()) return selected;
  return fail(
      ErrorCode::kNoAgent,
      fmt::format("no segment of an agent '{}' among {} segments: the names are in the tree "
                  "of the directory (`shm-dump` without --agent shows it)",
                  agent, all.all().size()));
}

int dump_all(const Segments& all, const std::vector<const Segment*>& selected, bool json) {
  Json list = Json::array();
  for (const Segment* segment : selected) {
    Json one = dump_segment(*segment, all);
    if (json) {
      list.push_back(std::move(one));
    } else {
      print(text_of(one) + '\n');
    }
  }
  if (json) print(document(list));
  return kExitOk;
}

int verify_all(const std::vector<const Segment*>& selected, const Options& options) {
  Json list = Json::array();
  int status = kExitOk;
  for (const Segment* segment : selected) {
    const Json one = verify(*segment, options.at_rest);
    const bool ok = one.at("ok");
    if (!ok) status = kExitError;
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

int save_all(const std::vector<const Segment*>& selected, const Options& options) {
  if (::mkdir(options.save.c_str(), 0700) != 0 && errno != EEXIST) {
    const Error error = os::system_error(fmt::format("cannot create {}", options.save));
    complain(error.text);
    return kExitError;
  }
  Json list = Json::array();
  for (const Segment* segment : selected) {
    const std::string path = fmt::format("{}/{}{}", options.save, segment->source.name,
                                         segment->live ? kSavedLiveSuffix : kSavedSuffix);
    const auto fd = open_source(segment->source);
    if (!fd && fd.error().code == ErrorCode::kClosed) continue;
    const auto saved = fd ? save_copy(fd->get(), path) : tl::unexpected(fd.error());
    if (!saved) {
      complain(saved.error().text);
      return exit_code(saved.error());
    }
    list.push_back(path);
    if (!options.json) print(fmt::format("saved {}\n", path));
  }
  if (options.json) print(document(list));
  return kExitOk;
}

int run(const Options& options) {
  if (options.layout) {
    print(layout_text());
    return kExitOk;
  }
  const auto sources = sources_of(options);
  if (!sources) {
    complain(sources.error().text);
    return exit_code(sources.error());
  }
  Loaded loaded = load_all(*sources);
  const Segments all(std::move(loaded.segments));
  if (all.all().empty() && loaded.status != kExitOk) return loaded.status;
  const auto selected = select(all, options.agent);
  if (!selected) {
    complain(selected.error().text);
    return loaded.status != kExitOk ? loaded.status : exit_code(selected.error());
  }
  const int status = !options.save.empty() ? save_all(*selected, options)
                     : options.verify      ? verify_all(*selected, options)
                                           : dump_all(all, *selected, options.json);
  return status != kExitOk ? status : loaded.status;
}

int main_with(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Shows, checks and saves the shared-memory segments of a Beeline hive, of one agent, "
      "or of saved files. It only reads.",
      "shm-dump");
  app.footer(kExamples);
  app.set_version_flag("--version", fmt::format("shm-dump {} (layout {}.{})", kVersion,
                                                shm::kLayoutMajor, shm::kLayoutMinor));
  auto* hive = app.add_option("--hive", options.hive, "Name of the hive");
  app.add_option("--agent", options.agent, "Only what this agent owns or reads (name or pid)");
  auto* files = app.add_option("FILE", options.files, "Saved segments, instead of a hive");
  app.add_flag("--json", options.json, "One JSON document on stdout");
  auto* layout = app.add_flag("--layout", options.layout, "Print the golden layout");
  auto* verify_flag = app.add_flag("--verify", options.verify, "Walk the invariants");
  app.add_flag("--at-rest", options.at_rest,
               "With --verify: the owners were idle, so the order index must match, too")
      ->needs(verify_flag);
  auto* save = app.add_option("--save", options.save, "Write sparse copies into this directory");
  hive->excludes(files);
  save->excludes(verify_flag);
  layout->excludes(files)->excludes(hive)->excludes(verify_flag)->excludes(save);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return run(options);
}

}  // namespace
}  // namespace beeline::dump

int main(int argc, char** argv) {
  if (const auto filled = beeline::os::fill_standard_streams(); !filled) return 1;
  const int status = beeline::dump::main_with(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("shm-dump: cannot write the result");
  return status != 0 ? status : 1;
}
