#pragma once

// The task folder in tables and JSON.

#include <string>
#include <vector>

#include <beeline/spool.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

[[nodiscard]] Json listed_json(const spool::Listed& listed);
[[nodiscard]] std::string listed_table(const std::vector<spool::Listed>& all);
// Every field of one file; long texts come last.
[[nodiscard]] std::string listed_text(const spool::Listed& listed);

[[nodiscard]] Json swept_json(const spool::Swept& swept);
[[nodiscard]] std::string swept_text(const spool::Swept& swept);

// The configuration of the folder, and all that is in it.
struct SpoolSurvey {
  spool::Environment environment;
  std::string dir;
  bool is_there = false;
  struct Count {
    spool::Folder folder = spool::Folder::kInbox;
    std::size_t files = 0;
    std::size_t problems = 0;
  };
  std::vector<Count> counts;
  struct Worker {
    std::string name;
    std::vector<std::string> tasks;
  };
  std::vector<Worker> workers;

  void add_work(const std::string& worker, const std::string& task);
};
[[nodiscard]] Json survey_json(const SpoolSurvey& survey);
[[nodiscard]] std::string survey_text(const SpoolSurvey& survey);

}  // namespace beeline::cli
