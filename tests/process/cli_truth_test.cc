// Every verb reports that its output could not be written, and totals count the same things as
// lists.

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliTruth : public CliTest {
 protected:
  static Outcome full(const std::string& words) {
    return run({"/bin/sh", "-c", "exec \"$BEELINE_BIN/beeline\" " + words + " >/dev/full"});
  }
  // Checks text and JSON. The verb does its work all the same.
  static void expect_told(const std::string& words) {
    for (const std::string form : {"", " --json"}) {
      const Outcome outcome = full(words + form);
      EXPECT_EQ(outcome.code, 1) << words << form;
      EXPECT_TRUE(contains(outcome.err, "cannot write to our stdout: No space left on device"))
          << words << form << ": " << outcome.err;
    }
  }
  // The id of the dead letter that a service makes of a message.
  static std::string make_letter(const std::string& service) {
    (void)good({"send", service, "fails"});
    return wait_for_letter(service);
  }
  static std::string wait_for_letter(const std::string& service) {
    for (int i = 0; i < 6000; ++i) {
      const json letters = good_json({"dlq", "ls", service});
      if (!letters.empty()) return letters.front().at("id");
      ::usleep(10'000);
    }
    ADD_FAILURE() << service << " has no dead letter";
    return "1:1";
  }
  // The verbs that a help text lists.
  static std::vector<std::string> verbs_in(const std::string& help) {
    std::istringstream lines(help.substr(help.find("\nSubcommands:\n") + 14));
    std::vector<std::string> verbs;
    for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
      if (line[2] != ' ') verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return verbs;
  }
};

// D14
TEST_F(CliTruth, EveryVerbTellsThatItsOutputWasNotWritten) {
  expect_told("--version");
  EXPECT_EQ(full("up").code, 1);
  EXPECT_EQ(full("down --json").code, 1);
  EXPECT_EQ(full("up --json").code, 1);
  Program echo(with_program({"reply", "echo", "--echo"}));
  Program failing(with_program({"reply", "failing", "--command", "exit 3", "--retry-pause", "0"}));
  wait_for_agent("echo");
  wait_for_agent("failing");
  for (const char* name : {"one", "two", "worker"}) make_away(name);
  for (const char* words :
       {"status", "tree", "route 1 echo", "inbox worker", "info", "info worker", "doctor",
        "version", "send worker x", "send worker - --lines </etc/passwd", "request echo x",
        "bcast x --role architect", "recv worker --count 1", "dlq ls", "dlq ls worker"}) {
    expect_told(words);
  }
  EXPECT_EQ(full("forget one").code, 1);
  EXPECT_EQ(full("forget two --json").code, 1);
  EXPECT_EQ(full("forget worker nobody-else --purge").code, 4) << "another failure comes first";
  const std::string letter = make_letter("failing");
  expect_told("dlq show " + letter);
  EXPECT_EQ(full("dlq show --raw " + letter).code, 1);
  EXPECT_EQ(full("dlq requeue " + letter).code, 1);
  EXPECT_EQ(full("dlq requeue --json " + wait_for_letter("failing")).code, 1);
  EXPECT_EQ(full("dlq purge " + wait_for_letter("failing")).code, 1);
  EXPECT_EQ(full("dlq purge --json " + make_letter("failing")).code, 1);
  expect_told("dlq purge --all");
  expect_told("bcast x");
  expect_told("demo");
  EXPECT_EQ(full("down").code, 1);
  EXPECT_FALSE(is_up());
}

TEST_F(CliTruth, EveryHelpTextTellsThatItWasNotWritten) {
  const std::vector<std::string> verbs = verbs_in(good({"help"}));
  EXPECT_GT(verbs.size(), 15U);
  const auto expect_help = [](const std::string& path) {
    for (const std::string& words : {path + " -h", "help " + path, path + " -h --json"}) {
      EXPECT_EQ(full(words).code, 1) << words;
    }
  };
  for (const std::string& verb : verbs) {
    expect_help(verb);
    const std::string help = good({"help", verb});
    if (!contains(help, "\nSubcommands:\n")) continue;
    for (const std::string& below : verbs_in(help)) expect_help(verb + ' ' + below);
  }
}

// Front door, 5b
TEST_F(CliTruth, TotalsCountWhatTheListsShow) {
  Program holding(with_program({"reply", "holder", "--command",
                                "touch $TMPDIR/held; while [ -e $TMPDIR/held ]; do sleep 0.01; "
                                "done"}));
  wait_for_agent("holder");
  (void)good({"send", "holder", "in hand"});
  wait_for_file("held");
  make_away("worker");
  for (int i = 0; i < 3; ++i) (void)good({"send", "worker", "x"});
  (void)good({"recv", "worker", "--count", "1"});
  (void)good({"send", "worker", "gone", "--ttl", "1ms", "--rank", "high"});
  (void)bad(5, {"recv", "worker", "--type", "none", "--timeout", "10ms"});
  for (int i = 0; i < 4; ++i) (void)good({"send", "worker", "waits"});

  std::size_t dead = 0;
  const json rows = good_json({"status"}).at("inboxes");
  for (const std::string name : {"worker", "holder"}) {
    std::map<std::string, std::size_t> places;
    for (const json& line : good_json({"inbox", name})) ++places[line.at("place")];
    const json account = good_json({"info", name}).at("inbox");
    EXPECT_EQ(account.at("in_lanes"), places["lane"]) << name;
    EXPECT_EQ(account.at("queued"), places["queued"]) << name;
    EXPECT_EQ(account.at("leased"), places["leased"]) << name;
    EXPECT_EQ(account.at("dead"), places["dead"]) << name;
    EXPECT_EQ(good_json({"dlq", "ls", name}).size(), places["dead"]) << name;
    dead += places["dead"];
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const json& each) { return each.at("name") == name; });
    ASSERT_NE(row, rows.end());
    for (const char* total : {"in_lanes", "queued", "leased", "dead"}) {
      EXPECT_EQ(row->at(total), account.at(total)) << name << ' ' << total;
    }
  }
  EXPECT_EQ(dead, 1U);
  EXPECT_EQ(good_json({"dlq", "ls"}).size(), dead);
  EXPECT_EQ(good_json({"status"}).at("dead_letters_listed"), dead);
  std::filesystem::remove(folder_ + "/held");
}

}  // namespace
}  // namespace beeline::test
