// examples/worker.py, a program in another language behind `beeline pipe`.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliPipeExample : public CliTest {
 protected:
  static std::vector<std::string> python() {
    return {
        "/bin/sh", "-c",
        R"(PATH="$BEELINE_BIN:$PATH" exec python3 "$BEELINE_SOURCE/examples/worker.py" worker)"};
  }
  // Waits until the only message of the worker is in this place.
  static void wait_for_place(const std::string& place, int attempts) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const json list = good_json({"inbox", "worker"});
      if (list.size() == 1 && list.at(0).at("place") == place) {
        EXPECT_EQ(list.at(0).at("attempts"), attempts);
        return;
      }
      ASSERT_LT(std::chrono::steady_clock::now(), end) << list.dump();
      ::usleep(2000);
    }
  }
};

TEST_F(CliPipeExample, AWorkerInPythonThatIsKilledAtItsMessageLeavesItToTheNext) {
  (void)good({"up"});
  Program first(python());
  wait_for_agent("worker");
  // The example blocks until another process writes into the fifo.
  const std::string file = folder_ + "/lines";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  Program asker(with_program({"request", "worker", file}));
  ASSERT_NO_FATAL_FAILURE(wait_for_place("leased", 0));
  first.signal(SIGKILL);
  (void)first.wait();
  ASSERT_NO_FATAL_FAILURE(wait_for_place("queued", 1));  // the pipe has seen the end of its stdin
  Program second(python());
  ASSERT_NO_FATAL_FAILURE(wait_for_place("leased", 1));
  EXPECT_EQ(run({"/bin/sh", "-c", R"(printf 'a\nb\nc\n' >"$TMPDIR/lines")"}).code, 0);
  EXPECT_EQ(asker.wait().out, "3\n");
  EXPECT_TRUE(contains(bad(1, {"request", "worker", folder_ + "/none"}), "No such file"));
  second.signal(SIGKILL);
  (void)second.wait();
  const json inboxes = good_json({"status"}).at("inboxes");
  EXPECT_TRUE(std::any_of(inboxes.begin(), inboxes.end(), [](const json& inbox) {
    return inbox.at("name") == "worker" && inbox.at("done") == 1;
  })) << inboxes.dump();
}

}  // namespace
}  // namespace beeline::test
