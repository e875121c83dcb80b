// `spool work` does the tasks of a folder, one after the other; `spool put TEXT...` adds some.
// The folder is $DROVER_MAILBOX_DIR, else /tmp/drover/mailbox.
#include <beeline/spool.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

namespace spool = beeline::spool;

int main(int argc, char** argv) {
  auto folder = spool::Spool::open();
  if (!folder) return std::cerr << folder.error().text << '\n', 1;
  const std::string verb = argc > 1 ? argv[1] : "work";
  for (int i = 2; verb == "put" && i < argc; ++i) {
    const auto id = folder->put({.title = "Count the words", .description = argv[i]});
    if (!id) return std::cerr << id.error().text << '\n', 1;
    std::cout << *id << '\n';
  }
  while (verb == "work") {
    auto claim = folder->claim(beeline::after(std::chrono::seconds(1)));
    if (!claim && claim.error().code == spool::Code::kNoTasks) break;
    if (!claim) return std::cerr << claim.error().text << '\n', 1;
    const std::string& text = claim->task().description;
    if (text.empty()) {
      (void)claim->retry("nothing to count");  // after max_attempts it is in failed/
      continue;
    }
    const auto blanks = std::count(text.begin(), text.end(), ' ');
    // Killed before this line, another worker gets the task.
    const auto done = claim->complete({.verdict = "pass", .output = std::to_string(blanks + 1)});
    if (!done) std::cerr << done.error().text << '\n';
  }
}
