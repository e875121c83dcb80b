#pragma once

// The options that the verbs of the task folder share, and its failures as exit codes.

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <beeline/spool.h>

#include "tools/beeline/exit_codes.h"

namespace beeline::cli {

struct SpoolArguments {
  std::string dir;            // empty: $DROVER_MAILBOX_DIR, or the default
  std::string worker;         // empty: "HOST:PID" of the process that the claims belong to
  std::string pid;            // empty: our parent
  std::string sync = "none";  // none, data or full
  bool fifo = false;
  bool shared = false;
  bool works = false;  // the verb claims tasks or ends claims

  // A claim belongs to our parent, the shell or the script, because this program ends at once.
  // Errors: kInvalidTask (no such process; no name for a worker without a process).
  [[nodiscard]] spool::Outcome<spool::Options> options() const;
  // Errors: kMailboxDir, those of options().
  [[nodiscard]] spool::Outcome<spool::Spool> open() const;
  // The same for a folder that is there already. A mistyped name makes no folders.
  [[nodiscard]] spool::Outcome<spool::Spool> open_existing() const;
};

void add_spool_dir(CLI::App& verb, SpoolArguments& arguments);
void add_spool_worker(CLI::App& verb, SpoolArguments& arguments);  // --worker, --pid
void add_spool_sync(CLI::App& verb, SpoolArguments& arguments);
void add_spool_fifo(CLI::App& verb, SpoolArguments& arguments);
// The positional argument that names a task.
void add_spool_id(CLI::App& verb, std::string& id, const char* about);

[[nodiscard]] ExitCode exit_code(spool::Code code) noexcept;
// Prints the failure with the document's name of its code; returns its exit code. `where` comes
// first.
ExitCode complain(const spool::Failure& failure, std::string_view where = {});
ExitCode complain(ExitCode code, const spool::Failure& failure, std::string_view where);

// Errors: kMailboxDir (the folder is not there).
[[nodiscard]] spool::Outcome<void> check_is_there(const spool::Options& options);

// Prints the remarks that wait.
void tell_remarks(spool::Spool& spool);

// Text for a terminal: as look::escape(), with backslashes as they are.
[[nodiscard]] std::string safe_text(std::string_view text);

}  // namespace beeline::cli
