#pragma once

// The record of a run of the demo, and its report.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <beeline/processes.h>

#include "src/control/wire.h"
#include "tools/beeline/demo/text.h"
#include "tools/beeline/output.h"

namespace beeline::cli::demo {

// The worker that was killed, and the worker that did its task.
struct Takeover {
  std::string agent;
  std::uint32_t task = 0;
  pid_t killed_os_pid = 0;
  int signal = 0;  // of its end, as the steward saw it
  pid_t new_os_pid = 0;
  std::optional<std::uint32_t> given_again;
  std::uint32_t attempts = 0;
  pid_t done_by_os_pid = 0;
};

struct LinkAccount {
  std::uint32_t peer = 0;
  std::uint64_t sent = 0;
  std::uint64_t not_taken = 0;
  std::uint64_t received = 0;
};

struct Account {
  std::string agent;
  std::uint32_t pid = 0;
  std::uint64_t drained = 0, queued = 0, tasks = 0, leased = 0, done = 0, dead = 0, purged = 0;
  std::vector<LinkAccount> links;

  // All accepted messages and tasks have ended: the inbox balances and is empty.
  [[nodiscard]] bool settled() const noexcept;
};

struct Sum {
  std::uint64_t tasks = 0;
  Totals totals;
};

struct RoundTrips {
  std::vector<std::int64_t> sorted_ns;
  // REQUIRES: not empty; `share` between 0 and 1.
  [[nodiscard]] double us_at(double share) const;
};

struct Story {
  bool quiet = false;  // print only the JSON at the end
  std::string directory;
  std::string python;  // the folder of the Python package, if a worker is in Python
  FileList files;
  std::size_t tasks = 0;
  Totals direct;  // counted without Beeline
  Takeover takeover;
  std::optional<Sum> sum;
  std::uint64_t lost = 0;  // tasks that the killed worker had: its dead letters
  std::vector<control::ListedAgent> agents;
  RoundTrips round_trips;
  std::map<std::uint32_t, Account> accounts;  // by pid
  std::vector<ChildInfo> children;            // as the steward knows them, after their ends
  bool clean = false;                         // no process and no file is left
};

// One line at the end: a condition that had to hold, and whether it did.
struct Check {
  std::string text;
  bool passed = false;
};
[[nodiscard]] std::vector<Check> checks(const Story& story);

[[nodiscard]] std::string opening_text(const Story& story);
[[nodiscard]] std::string killing_text(const Story& story);
[[nodiscard]] std::string result_text(const Story& story);
[[nodiscard]] std::string checks_text(const Story& story);
[[nodiscard]] Json report_json(const Story& story);

}  // namespace beeline::cli::demo
