// The tables by role, whole.

#include "src/steward/policy.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace beeline::steward::test {
namespace {

// Each row is a role in the order of kRoleWords; each column a word, y: allowed, n: no rule,
// d: denied by a rule.
struct Row {
  std::string_view role;
  std::string_view cells;
};

// HK-180. spawn kill send_message read_artifact write_artifact escalate read_process
constexpr std::array<Row, 7> kAcl = {{{"kernel", "yyyyyyy"},
                                      {"daemon", "yyyyyyy"},
                                      {"agent", "ynyyyyy"},
                                      {"architect", "nnnyyyy"},
                                      {"lead", "yyyyyyy"},
                                      {"worker", "ynyyyyy"},
                                      {"task", "dnyynyn"}}};

TEST(StewardPolicy, EachRoleMayTakeTheActionsOfItsRow) {
  for (const auto& [word, cells] : kAcl) {
    const Actor actor{7, role_from(word).value(), 1000};
    ASSERT_EQ(cells.size(), kActionWords.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto action = static_cast<Action>(i);
      const auto no = refusal(actor, action);
      EXPECT_EQ(may(actor.role, action), cells[i] == 'y') << word << " " << kActionWords[i];
      const std::string who = "acl: PID 7 (role=" + std::string(word);
      const std::string verb(kActionWords[i]);
      const std::string text = cells[i] == 'y'   ? "none"
                               : cells[i] == 'n' ? who + ") has no rule for action " + verb
                                                 : who + ", user=1000) denied action " + verb;
      EXPECT_EQ(no.value_or("none"), text);
    }
  }
}

// HK-181. spawn_children kill_processes manage_tree shell_exec network_access file_write file_read
// budget_allocate escalate broadcast
constexpr std::array<Row, 7> kCan = {{{"kernel", "yyyyyyyyyy"},
                                      {"daemon", "yyynynyyyy"},
                                      {"agent", "yynnyyyyyn"},
                                      {"architect", "nnnnnyynyn"},
                                      {"lead", "yynnyyyyyn"},
                                      {"worker", "ynnnyyynyn"},
                                      {"task", "nnnnnnynyn"}}};

TEST(StewardPolicy, EachRoleHasTheCapabilitiesOfItsRow) {
  for (const auto& [word, cells] : kCan) {
    const Actor actor{3, role_from(word).value(), 0};
    ASSERT_EQ(cells.size(), kCapabilityWords.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto no = refusal(actor, static_cast<Capability>(i));
      const std::string text = "PID 3 (role=" + std::string(word) + ") lacks capability " +
                               std::string(kCapabilityWords[i]);
      EXPECT_EQ(no.value_or("none"), cells[i] == 'y' ? "none" : text);
    }
  }
}

// HK-102, HK-111.
TEST(StewardPolicy, EachRoleHasATierAModelAndARestart) {
  struct Defaults {
    std::string_view role, tier, model, restart;
  };
  constexpr std::array<Defaults, 7> kAll = {{{"kernel", "strategic", "opus", "always"},
                                             {"daemon", "operational", "mini", "always"},
                                             {"agent", "tactical", "sonnet", "notify"},
                                             {"architect", "strategic", "opus", "never"},
                                             {"lead", "tactical", "sonnet", "notify"},
                                             {"worker", "operational", "mini", "notify"},
                                             {"task", "operational", "mini", "never"}}};
  for (const auto& [word, tier, model, restart] : kAll) {
    const Role role = role_from(word).value();
    EXPECT_EQ(to_string(default_tier(role)), tier);
    EXPECT_EQ(model_of(default_tier(role)), model);
    EXPECT_EQ(to_string(default_restart(role)), restart);
    EXPECT_EQ(default_tier(role, Tier::kOperational), Tier::kOperational);
    EXPECT_EQ(default_limits(role).max_children, word == "kernel" ? 100U : 10U);
    EXPECT_EQ(tier_from(tier), default_tier(role));
    EXPECT_EQ(restart_from(restart), default_restart(role));
  }
  EXPECT_FALSE(role_from("Lead") || role_from("") || tier_from("opus") || restart_from("yes"));
}

}  // namespace
}  // namespace beeline::steward::test
