// Names on the command line: what is none is refused before anything is done with it.

#include <string>
#include <vector>

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliNames : public CliTest {
 protected:
  // Every verb that takes the name of an agent, with this one.
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
    EXPECT_TRUE(contains(err, "0xe9, which is no UTF-8, at byte 3")) << words.front() << err;
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
TEST_F(CliNames, NoAgentIsNamedLikeAPidOrWithWhatCannotBeSeen) {
  (void)good({"up"});
  for (const char* name : {"2", "02", "+2", " 2", "2 ", "4294967296", "que\u200ben", "a\u202eb",
                           "a\u00a0b", "\ufefflead", "a\ufe0f", "\ue000"}) {
    EXPECT_TRUE(contains(bad(2, {"recv", name, "--timeout", "1ms"}), "name")) << name;
  }
  EXPECT_TRUE(contains(bad(2, {"recv", "que\u200ben"}), "U+200B at byte 3"));
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
