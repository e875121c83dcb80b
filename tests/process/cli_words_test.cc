// Words that the command line does not know, exit codes, and outputs that cannot be written.

#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliWords : public CliTest {
 protected:
  static Outcome shell(const std::string& command) { return run({"/bin/sh", "-c", command}); }
};

TEST_F(CliWords, AVerbThatIsMistypedNamesTheOneThatIsMeant) {
  EXPECT_TRUE(contains(bad(2, {"snd"}), "did you mean `beeline send`?"));
  EXPECT_TRUE(contains(bad(2, {"reqest", "worker", "x"}), "did you mean `beeline request`?"));
  EXPECT_TRUE(contains(bad(2, {"--hive", "x", "tre"}), "did you mean `beeline tree`?"));
  EXPECT_TRUE(contains(bad(2, {"dlq", "lss"}), "did you mean `beeline dlq ls`?"));
  const std::string unlike = bad(2, {"xylophone"});
  EXPECT_TRUE(contains(unlike, "there is no verb `xylophone`")) << unlike;
  EXPECT_FALSE(contains(unlike, "did you mean")) << unlike;
  EXPECT_TRUE(contains(bad(2, {}), "a verb is missing"));
}

TEST_F(CliWords, HelpAndVersionAreVerbs) {
  EXPECT_EQ(good({"help"}), good({"--help"}));
  EXPECT_EQ(good({"help", "send"}), good({"send", "--help"}));
  EXPECT_EQ(good({"help", "dlq", "ls"}), good({"dlq", "ls", "--help"}));
  EXPECT_EQ(good({"version"}), good({"--version"}));
  EXPECT_TRUE(contains(bad(2, {"help", "snd"}), "did you mean `beeline help send`?"));
  EXPECT_TRUE(contains(bad(2, {"help", "dlq", "lss"}), "did you mean `beeline help dlq ls`?"));
}

TEST_F(CliWords, TheTableOfExitCodesIsKept) {
  const std::string table = good({"help", "exit-codes"});
  EXPECT_TRUE(contains(good({"--help"}), table));
  const std::vector<std::string> words = {"ok",       "error",   "usage", "no_coordinator",
                                          "no_agent", "timeout", "full",  "denied"};
  for (std::size_t code = 0; code < words.size(); ++code) {
    EXPECT_TRUE(contains(table, std::to_string(code) + "  " + words[code] + ' ')) << table;
  }
  for (const char* verb : {"down", "status", "tree", "info"}) (void)bad(3, {verb});
  (void)good({"up"});
  (void)bad(3, {"up"});
  (void)bad(1, {"send", "worker", "@/no/such/file"});
  for (const std::vector<std::string>& nobody :
       std::vector<std::vector<std::string>>{{"send", "nobody", "x"},
                                             {"inbox", "nobody"},
                                             {"info", "nobody"},
                                             {"dlq", "ls", "nobody"}}) {
    (void)bad(4, nobody);
  }
  (void)bad(5, {"recv", "worker", "--timeout", "1ms"});
  make_away("task", {"--role", "task", "--parent", "worker"});
  make_away("other");
  (void)bad(7, {"send", "other", "x", "--as", "task"});
}

TEST_F(CliWords, AnInvalidValueIsAnErrorOfUsage) {
  const std::string text(32, 'x');
  for (const char* option : {"--type", "--channel"}) {
    EXPECT_TRUE(contains(bad(2, {"send", "worker", "x", option, text}), "limit is 31"));
    EXPECT_TRUE(contains(bad(2, {"recv", "worker", option, text}), "limit is 31"));
    EXPECT_TRUE(contains(bad(2, {"bcast", "x", option, text}), "limit is 31"));
  }
  EXPECT_TRUE(contains(bad(2, {"up", "--group", "nosuchgroup"}), "nosuchgroup"));
  for (const auto& [variable, value] :
       {std::pair("BEELINE_GROUP", "nosuchgroup"), std::pair("BEELINE_FORGET_EMPTY_AFTER", "soon"),
        std::pair("BEELINE_MAX_PAYLOAD", "64M")}) {
    ASSERT_EQ(::setenv(variable, value, 1), 0);
    for (const char* const verb : {"up", "recv"}) {
      const Outcome outcome = verb == std::string("up") ? beeline({"up"}) : beeline({"recv", "a"});
      EXPECT_EQ(outcome.code, 2) << variable << outcome.err;
      EXPECT_TRUE(contains(outcome.err, variable) && contains(outcome.err, value)) << outcome.err;
    }
    ::unsetenv(variable);
  }
  EXPECT_TRUE(contains(bad(2, {"forget", ""}), "name is empty"));
  EXPECT_TRUE(contains(bad(2, {"tree", "--hive", ""}), "name is empty"));
  EXPECT_FALSE(is_up());
  ASSERT_EQ(::setenv("BEELINE_SPIN_US", "abc", 1), 0);
  const std::string spin = bad(2, {"recv", "worker", "--timeout", "1ms"});
  ::unsetenv("BEELINE_SPIN_US");
  EXPECT_TRUE(contains(spin, "BEELINE_SPIN_US is \"abc\"")) << spin;
}

TEST_F(CliWords, ErrorsAreJsonWhereResultsAre) {
  const auto told = [](int code, std::vector<std::string> words) {
    words.emplace_back("--json");
    const json error = json::parse(bad(code, words), nullptr, false);
    EXPECT_TRUE(error.is_object()) << words.front();
    EXPECT_EQ(error.value("exit_code", -1), code);
    EXPECT_NE(error.value("text", ""), "");
    return error.value("code", "");
  };
  EXPECT_EQ(told(3, {"tree"}), "no_coordinator");
  EXPECT_EQ(told(2, {"snd"}), "usage");
  EXPECT_EQ(told(2, {"send", "worker", "x", "--type", std::string(32, 'x')}), "usage");
  (void)good({"up"});
  EXPECT_EQ(told(4, {"send", "nobody", "x"}), "no_agent");
  EXPECT_EQ(told(5, {"recv", "worker", "--timeout", "1ms"}), "timeout");
}

// D14
TEST_F(CliWords, AnOutputThatCannotBeWrittenIsAnError) {
  (void)good({"up"});
  make_away("worker");
  for (const char* verb :
       {"tree", "status", "info", "info worker", "inbox worker", "dlq ls", "doctor",
        "route 1 worker", "--version", "version", "--help", "help", "help exit-codes",
        "send worker x", "bcast x", "tree --json", "send -h", "forget worker"}) {
    const Outcome full =
        shell(std::string("exec \"$BEELINE_BIN/beeline\" ") + verb + " >/dev/full");
    EXPECT_EQ(full.code, 1) << verb;
    EXPECT_TRUE(contains(full.err, "cannot write to our stdout: No space left on device"))
        << verb << ": " << full.err;
  }
  // A pipe without a reader.
  const Outcome closed = shell(R"(cd "$TMPDIR" && mkfifo pipe && exec 3<>pipe 4>pipe 3>&- &&
                                  exec "$BEELINE_BIN/beeline" tree >&4)");
  EXPECT_EQ(closed.code, 1);
  EXPECT_EQ(closed.err, "beeline: nobody reads our stdout\n");
}

TEST_F(CliWords, LinesAreSentAsTheyComeAndTheOneThatFailsIsNamed) {
  make_away("worker");
  // The second line comes after the first one was taken.
  const Outcome sent = shell(
      R"(b=$BEELINE_BIN/beeline
         { echo one; "$b" recv worker --count 1 >&2; printf 'two\n\nend'; } |
         "$b" send worker - --lines)");
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_EQ(sent.err, "one\n");
  EXPECT_EQ(good({"recv", "worker", "--count", "3"}), "two\n\nend\n");
  const Outcome failed = beeline({"send", "worker", "-", "--lines", "--json"},
                                 "small\n" + std::string(65 << 20, 'x') + "\nlast\n");
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.err, "line 2: not sent")) << failed.err;
  EXPECT_EQ(json_lines(failed.out).size(), 1U);
}

TEST_F(CliWords, AMessageIsSentAsAnAnswer) {
  make_away("worker");
  (void)good({"send", "worker", "42", "--reply-to", "3:21"});
  EXPECT_EQ(good_json({"recv", "worker", "--count", "1"}).at("reply_to"), "3:21");
  EXPECT_TRUE(contains(bad(2, {"send", "worker", "x", "--reply-to", "abc"}), "no id"));
}

TEST_F(CliWords, StatusCountsWhatTheListsShow) {
  make_away("worker");
  EXPECT_TRUE(contains(good({"status"}), "0 attached, 1 zombies"));
  EXPECT_EQ(good_json({"status"}).at("agents"), 1);
  EXPECT_TRUE(contains(good({"status"}), "0 in `beeline dlq ls`"));
  (void)good({"send", "worker", "x", "--ttl", "1ms"});
  (void)bad(5, {"recv", "worker", "--timeout", "50ms"});
  EXPECT_EQ(good_json({"dlq", "ls"}).size(), 1U);
  EXPECT_EQ(good_json({"status"}).at("dead_letters_listed"), 1);
}

TEST_F(CliWords, AMistypedOptionNamesTheOneThatIsMeant) {
  EXPECT_TRUE(contains(bad(2, {"send", "worker", "x", "--tpye", "y"}),
                       "no option `--tpye`; did you mean `beeline send --type`? see `beeline help "
                       "send`"));
  EXPECT_TRUE(contains(bad(2, {"tree", "--jsno"}), "did you mean `beeline tree --json`?"));
  EXPECT_TRUE(
      contains(bad(2, {"reply", "worker", "--ecoh"}), "did you mean `beeline reply --echo`"));
  EXPECT_TRUE(
      contains(bad(2, {"dlq", "ls", "--timeot=1"}), "did you mean `beeline dlq ls --timeout`"));
  const std::string unlike = bad(2, {"tree", "--xylophone"});
  EXPECT_FALSE(contains(unlike, "did you mean")) << unlike;
}

TEST_F(CliWords, ShmDumpCountsWhatTheInboxShows) {
  make_away("worker");
  for (int i = 0; i < 5; ++i) (void)good({"send", "worker", "x"});
  (void)good({"recv", "worker", "--count", "3"});
  EXPECT_EQ(good_json({"inbox", "worker"}).size(), 2U);
  const Outcome table = run({"shm-dump"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, " 2 live messages, 0 dead letters; all ok\n")) << table.out;
  const Outcome full = run({"shm-dump", "--full"});
  EXPECT_TRUE(contains(full.out, "worker (2) agent, zombie")) << full.out;
  EXPECT_EQ(full.out.find("owner runs"), full.out.rfind("owner runs")) << "the coordinator alone";
}

// D14
TEST_F(CliWords, AReceiverOntoAFullDiskSaysSo) {
  make_away("worker");
  (void)good({"send", "worker", "kept"});
  const Outcome full = shell(R"(exec "$BEELINE_BIN/beeline" recv worker --count 1 >/dev/full)");
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "No space left on device, message ")) << full.err;
  EXPECT_TRUE(contains(full.err, ": it is put back, no attempt is spent")) << full.err;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(shell(R"(exec "$BEELINE_BIN/beeline" recv worker --json >/dev/full)").code, 1);
  }
  const json kept = good_json({"recv", "worker", "--count", "1"});
  EXPECT_EQ(kept.at("body"), "kept");
  EXPECT_EQ(kept.at("attempts"), 0);
  EXPECT_EQ(kept.at("redelivered"), false);
}

}  // namespace
}  // namespace beeline::test
