// scripts/bench runs each of its measurements once and briefly, and has a line for each target. No
// figure is judged.

#include <fstream>
#include <sstream>

#include "src/os/process.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class BenchScript : public CliTest {
 protected:
  // The lines of a file of the run that contain a text.
  [[nodiscard]] std::vector<std::string> lines_with(const std::string& file,
                                                    const std::string& what) const {
    std::ifstream in(folder_ + "/bench-results/" + file);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);) {
      if (contains(line, what)) found.push_back(line);
    }
    return found;
  }
};

TEST_F(BenchScript, makes_the_measurements_of_each_target) {
  if (os::usable_cpus() == 1) GTEST_SKIP() << "on one CPU nobody polls, as most targets ask for";
  const std::string bin = ::getenv("BEELINE_BIN");
  std::filesystem::create_directory_symlink(bin, folder_ + "/bin");
  const bool has_python = std::filesystem::exists(bin + "/../python");
  if (has_python) {
    std::filesystem::create_directory_symlink(bin + "/../python", folder_ + "/python");
  }
  const std::string script = std::string(::getenv("BEELINE_SOURCE")) + "/scripts/bench";
  const Outcome outcome = Program({script, folder_, "--brief"}).wait(std::chrono::seconds(750));
  EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  // The run ends with the targets and the comparison.
  std::ostringstream text;
  text << std::ifstream(folder_ + "/bench-results/targets.md").rdbuf();
  EXPECT_TRUE(contains(outcome.out, text.str() + "measured in ")) << outcome.out;
  EXPECT_EQ(lines_with("targets.md", "| at most ").size() +
                lines_with("targets.md", "| at least ").size() +
                lines_with("targets.md", "| under ").size() +
                lines_with("targets.md", "| reported ").size(),
            35U)
      << text.str();
  const bool has_iceoryx = lines_with("95-peers.jsonl", "\"iceoryx\",\"skipped\"").empty();
  for (const std::string& line : lines_with("targets.md", "not measured")) {
#ifndef BEELINE_HAS_SPOOL
    if (contains(line, "task folder")) continue;
#endif
#ifndef BEELINE_HAS_BUFFER
    if (contains(line, "buffer: ")) continue;
#endif
#ifndef BEELINE_HAS_STEWARD
    if (contains(line, "spawn of")) continue;
#endif
    // A brief run starts fewer children at once, and fills fewer rows.
    if (contains(line, "spawn of 200") || contains(line, "batch out of 1,000,000")) continue;
    EXPECT_TRUE(!has_iceoryx && contains(line, "iceoryx")) << line;
  }
  EXPECT_FALSE(lines_with("report.html", "<h2>peers").empty());
  EXPECT_EQ(!lines_with("python/bench.md", "| beeline, asyncio |").empty(), has_python);
}

}  // namespace
}  // namespace beeline::test
