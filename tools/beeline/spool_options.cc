#include "tools/beeline/spool_options.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/look/escape.h"
#include "tools/beeline/output.h"

namespace beeline::cli {
namespace {

constexpr std::int32_t kNoProcess = -1;

tl::unexpected<spool::Failure> wrong_option(std::string text) {
  return tl::unexpected<spool::Failure>(
      spool::Failure{spool::Code::kInvalidTask, 0, std::move(text)});
}

// The process that the claims belong to.
spool::Outcome<std::int32_t> owner_of(const std::string& text) {
  if (text == "none") return kNoProcess;
  // The parent is 0 if it lives outside our container: nobody here sees its end.
  if (text.empty()) return ::getppid() > 0 ? std::int32_t{::getppid()} : kNoProcess;
  std::int32_t pid = 0;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, pid);
  if (number.ec != std::errc() || number.ptr != end || pid <= 0) {
    return wrong_option(
        fmt::format("--pid {}: write the number of a process, or none", safe_text(text)));
  }
  if (::kill(pid, 0) != 0 && errno == ESRCH) {
    return wrong_option(fmt::format(
        "--pid {}: there is no such process, so the claim would be taken back at once; name one "
        "that lives as long as the work",
        pid));
  }
  return pid;
}

spool::Sync sync_of(std::string_view word) {
  if (word == "full") return spool::Sync::kFull;
  return word == "data" ? spool::Sync::kData : spool::Sync::kNone;
}

}  // namespace

spool::Outcome<spool::Options> SpoolArguments::options() const {
  spool::Options made;
  if (works) {
    const auto owner = owner_of(pid);
    if (!owner) return tl::unexpected(owner.error());
    if (*owner == kNoProcess && worker.empty()) {
      return wrong_option(
          "a claim without a process needs --worker NAME: `done` finds it by that name");
    }
    made.process = *owner;
  }
  made.dir = dir;
  made.worker = worker;
  made.sync = sync_of(sync);
  made.order = fifo ? spool::ClaimOrder::kFifo : spool::ClaimOrder::kPriority;
  made.shared = shared;
  return made;
}

spool::Outcome<spool::Spool> SpoolArguments::open() const {
  const auto with = options();
  return with ? spool::Spool::open(*with) : tl::unexpected(with.error());
}

spool::Outcome<spool::Spool> SpoolArguments::open_existing() const {
  auto with = options();
  if (!with) return tl::unexpected(with.error());
  if (auto there = check_is_there(*with); !there) return tl::unexpected(there.error());
  with->read_only = !works;
  return spool::Spool::open(*with);
}

void add_spool_dir(CLI::App& verb, SpoolArguments& arguments) {
  verb.add_option("--dir", arguments.dir,
                  "The task folder; $DROVER_MAILBOX_DIR, else " + spool::Environment().dir)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? "the name is empty: give one, or see whether a variable is unset"
                                : std::string();
          },
          ""));
}

void add_spool_worker(CLI::App& verb, SpoolArguments& arguments) {
  arguments.works = true;
  verb.add_option(
      "--worker", arguments.worker,
      "Name of the worker, in the task as claimed_by; HOST:PID of its process if not given");
  verb.add_option("--pid", arguments.pid,
                  "The process that the claim belongs to: the task goes back when it ends. none: "
                  "no process; the parent of this command if not given");
}

void add_spool_sync(CLI::App& verb, SpoolArguments& arguments) {
  verb.add_option("--sync", arguments.sync,
                  "Writes to wait for: none; data (files are whole after a power loss); full (and "
                  "moves that were done stay done)")
      ->check(CLI::IsMember(std::vector<std::string>{"none", "data", "full"}))
      ->capture_default_str();
}

void add_spool_fifo(CLI::App& verb, SpoolArguments& arguments) {
  verb.add_flag("--fifo", arguments.fifo, "Oldest first, whatever the priorities");
}

void add_spool_id(CLI::App& verb, std::string& id, const char* about) {
  verb.add_option("ID", id, about)->required();
}

ExitCode exit_code(spool::Code code) noexcept {
  switch (code) {
    case spool::Code::kMailboxDir:
      return ExitCode::kError;
    case spool::Code::kTaskExists:
      return ExitCode::kNoCoordinator;  // in use already
    case spool::Code::kNoTasks:
      return ExitCode::kTimeout;
    case spool::Code::kTaskNotFound:
      return ExitCode::kNoAgent;
    case spool::Code::kInvalidTask:
      return ExitCode::kUsage;
  }
  return ExitCode::kError;
}

ExitCode complain(const spool::Failure& failure, std::string_view where) {
  const bool is_denied = failure.sys_errno == EACCES || failure.sys_errno == EPERM;
  return complain(is_denied ? ExitCode::kDenied : exit_code(failure.code), failure, where);
}

ExitCode complain(ExitCode code, const spool::Failure& failure, std::string_view where) {
  return complain(code, spool::name_of(failure.code),
                  fmt::format("{}{}", where, safe_text(failure.text)));
}

spool::Outcome<void> check_is_there(const spool::Options& options) {
  const std::string dir = options.dir.empty() ? spool::Environment::read().dir : options.dir;
  std::error_code error;
  if (std::filesystem::exists(dir, error) || error) return {};  // open() names an error
  return tl::unexpected<spool::Failure>(spool::Failure{
      spool::Code::kMailboxDir, ENOENT,
      fmt::format("{}: {} is not there; `beeline spool put` makes it, --dir names another",
                  spool::text_of(spool::Code::kMailboxDir), dir)});
}

void tell_remarks(spool::Spool& spool) {
  for (const std::string& text : spool.take_remarks()) remark(safe_text(text));
}

std::string safe_text(std::string_view text) {
  std::string safe;
  for (;;) {
    const std::size_t end = text.find('\\');
    safe += look::escape(text.substr(0, end));
    if (end == std::string_view::npos) return safe;
    safe += '\\';
    text.remove_prefix(end + 1);
  }
}

}  // namespace beeline::cli
