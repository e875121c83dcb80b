// beeline bcast.

#include "tests/process/cli_fixture.h"

namespace beeline::test {
namespace {

class CliBroadcast : public CliTest {
 protected:
  // king - lead - {worker, task}, king - other; none of them has a process.
  static void make_tree() {
    make_away("lead", {"--role", "lead"});
    make_away("worker", {"--parent", "lead", "--role", "worker"});
    make_away("task", {"--parent", "lead", "--role", "task"});
    make_away("other", {"--role", "worker"});
  }
  static std::vector<std::string> names(const json& answer) {
    std::vector<std::string> found;
    for (const json& target : answer.at("targets")) found.push_back(target.at("name"));
    return found;
  }
};
using Names = std::vector<std::string>;

TEST_F(CliBroadcast, EverybodyGetsItUnderOneId) {
  make_tree();
  const json sent = good_json({"bcast", "wrap up", "--type", "order"});
  EXPECT_EQ(names(sent), (Names{"lead", "worker", "task", "other"}));
  for (const std::string& name : names(sent)) {
    const auto lines = json_lines(good({"recv", name, "--count", "1", "--json"}));
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].at("id"), sent.at("id")) << "C-34";
    EXPECT_EQ(lines[0].at("body"), "wrap up");
    EXPECT_EQ(lines[0].at("type"), "order");
  }
}

TEST_F(CliBroadcast, GroupsAreChildrenSubtreeAndRole) {
  make_tree();
  EXPECT_EQ(names(good_json({"bcast", "x", "--as", "lead", "--children"})),
            (Names{"worker", "task"}));
  make_away("grandchild", {"--parent", "worker"});
  EXPECT_EQ(names(good_json({"bcast", "x", "--as", "lead", "--subtree"})),
            (Names{"worker", "task", "grandchild"}));
  EXPECT_EQ(names(good_json({"bcast", "x", "--role", "worker"})), (Names{"worker", "other"}));
  const std::string table = good({"bcast", "-", "--role", "worker"}, "from stdin");
  EXPECT_TRUE(contains(table, "PID  NAME    RESULT\n")) << table;
  EXPECT_TRUE(contains(table, "worker  ok\n")) << table;
  (void)bad(2, {"bcast", "x", "--children", "--subtree"});
  (void)bad(2, {"bcast", "x", "--role", "pilot"});
}

TEST_F(CliBroadcast, NobodyInAGroupIsSaidAndNoFailure) {
  make_tree();
  EXPECT_EQ(good({"bcast", "x", "--children"}), "nobody is in that group\n");
  const json none = good_json({"bcast", "x", "--role", "daemon"});
  EXPECT_TRUE(none.at("id").is_null());
  EXPECT_EQ(names(none), Names());
}

TEST_F(CliBroadcast, ATaskIsDeniedAllButItsParent) {
  make_tree();
  EXPECT_EQ(names(good_json({"bcast", "x", "--as", "task"})), Names{"lead"});
  const Outcome denied = beeline({"bcast", "x", "--as", "task", "--role", "worker", "--json"});
  EXPECT_EQ(denied.code, 7) << denied.err;
  EXPECT_TRUE(contains(denied.err, "denied")) << denied.err;
  const json told = json::parse(denied.out, nullptr, false);
  ASSERT_FALSE(told.is_discarded()) << denied.out;
  EXPECT_EQ(names(told), (Names{"worker", "other"}));
  EXPECT_EQ(told.at("targets")[0].at("result"), "denied");
}

TEST_F(CliBroadcast, ALongBodyArrivesCut) {
  make_away("worker");
  (void)good({"bcast", "-"}, std::string(100'000, 'x'));
  std::string expected(65'536, 'x');
  expected += '\n';
  EXPECT_EQ(good({"recv", "worker", "--count", "1"}), expected);
}

}  // namespace
}  // namespace beeline::test
