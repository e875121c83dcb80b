// Names on the command line: an invalid one is refused before anything is done with it.

#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliNames : public CliTest {
 protected:
  // Its state in `beeline info`; empty if no agent has this name or the agent has ended for good.
  static std::string state_of(const std::string& name) {
    for (const json& agent : good_json({"info"})) {
      if (agent.at("name") == name && agent.at("state") != "dead") return agent.at("state");
    }
    return "";
  }

  // Every verb that takes the name of an agent, called with this one.
  static std::vector<std::vector<std::string>> all_with(const std::string& name) {
    return {{"recv", name, "--timeout", "1ms"},
            {"reply", name, "--echo", "--timeout", "1ms"},
            {"recv", "other", "--parent", name, "--timeout", "1ms"},
            {"send", name, "x"},
            {"send", "other", "x", "--as", name},
            {"request", name, "x", "--timeout", "1ms"},
            {"bcast", "x", "--as", name},
            {"inbox", name},
            {"info", name},
            {"route", name, "other"},
            {"route", "other", name},
            {"dlq", "ls", name}};
  }
};

// D11
TEST_F(CliNames, BytesThatAreNoUtf8AreRefusedAndNamed) {
  (void)good({"up"});
  for (const auto& words : all_with("caf\xe9")) {
    const std::string err = bad(2, words);
    EXPECT_TRUE(contains(err, "0xe9, which is not UTF-8, at byte 3")) << words.front() << err;
  }
  EXPECT_TRUE(contains(bad(2, {"recv", "worker", "--role", "caf\xe9"}), "--role"));
  EXPECT_EQ(good_json({"tree"}).at(0).at("children").size(), 0U);
}

// D11: the value of a variable that is not set.
TEST_F(CliNames, AnEmptyNameIsRefused) {
  (void)good({"up"});
  for (const auto& words : all_with("")) {
    EXPECT_TRUE(contains(bad(2, words), "name is empty")) << words.front();
  }
  EXPECT_EQ(good_json({"tree"}).at(0).at("children").size(), 0U);
}

// A10
TEST_F(CliNames, NoAgentIsNamedLikeAPidOrWithInvisibleCharacters) {
  (void)good({"up"});
  for (const char* name : {"2", "02", "+2", " 2", "2 ", "4294967296", "que\u200ben", "a\u202eb",
                           "a\u00a0b", "\ufefflead", "a\ufe0f", "\ue000"}) {
    EXPECT_TRUE(contains(bad(2, {"recv", name, "--timeout", "1ms"}), "name")) << name;
  }
  EXPECT_TRUE(contains(bad(2, {"recv", "que\u200ben"}), "U+200B at byte 3"));
}

// ---- Names that go with the command -------------------------------------------------------------

TEST_F(CliNames, ANewNameOfAsIsForgottenAtTheEndUnlessItIsKept) {
  make_away("worker");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"send", "worker", "x"},
                                                {"bcast", "x"},
                                                {"request", "nobody", "x", "--timeout", "1ms"}}) {
    std::vector<std::string> as = words;
    as.insert(as.end(), {"--as", "fleeting"});
    EXPECT_EQ(rest_of(beeline(as).err).find("fleeting"), std::string::npos) << "nothing waited";
    EXPECT_EQ(state_of("fleeting"), "") << words.front();
    as.emplace_back("--keep");
    (void)beeline(as);
    EXPECT_EQ(state_of("fleeting"), "zombie") << words.front();
    (void)good({"forget", "fleeting"});
  }
  EXPECT_TRUE(contains(bad(2, {"send", "worker", "x", "--keep"}), "--as"));
}

TEST_F(CliNames, ANameThatWasThereBeforeStaysWithItsMessages) {
  make_away("lead");
  make_away("worker");
  (void)good({"send", "lead", "for later"});
  (void)good({"send", "worker", "x", "--as", "lead"});
  EXPECT_EQ(state_of("lead"), "zombie");
  EXPECT_EQ(good({"recv", "lead", "--count", "1"}), "for later\n");
}

TEST_F(CliNames, MessagesForANameThatGoesAreToldAndKept) {
  (void)good({"up"});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"request", "nobody", "x", "--as", "fleeting", "--timeout", "60s"},
        {"recv", "fleeting", "--temporary", "--type", "other"},
        {"reply", "fleeting", "--temporary", "--type", "other", "--echo"}}) {
    Program program(with_program(words));
    ASSERT_NO_FATAL_FAILURE(wait_for_agent("fleeting"));
    const std::string id = good({"send", "fleeting", "too late"});
    program.signal(SIGTERM);
    const Outcome end = program.wait();
    EXPECT_TRUE(contains(end.err, "\"fleeting\" is forgotten; 1 message")) << end.err;
    EXPECT_EQ(state_of("fleeting"), "");
    while (!contains(good({"dlq", "ls"}), "too late")) ::usleep(2000);
    (void)good({"dlq", "purge", id.substr(0, id.size() - 1)});
  }
}

// F9
TEST_F(CliNames, APidThatNobodyHasIsToldInTheWordsOfTheRule) {
  (void)good({"up"});
  for (const char* pid : {"999", "0999", "99999999999"}) {
    const std::string err = bad(4, {"send", pid, "x"});
    EXPECT_TRUE(contains(
        err, std::string("receiver PID ") + (pid[0] == '0' ? pid + 1 : pid) + " not found"))
        << err;
  }
  const Outcome route = beeline({"route", "1", "999"});
  EXPECT_EQ(route.code, 4);
  EXPECT_TRUE(contains(route.out, "receiver PID 999 not found")) << route.out;
}

}  // namespace
}  // namespace beeline::test
