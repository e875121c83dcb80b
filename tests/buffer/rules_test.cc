// The pure parts of the router: KO-007 to KO-010, KO-012, KO-013, C-29, C-32.

#include "src/buffer/rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/buffer/grouping.h"
#include "src/buffer/times.h"

namespace beeline::buffer {
namespace {

Message message_of(RowId id, std::string channel, std::string conversation,
                   std::int32_t priority = 100) {
  return {.id = id,
          .channel = std::move(channel),
          .sender = "ann",
          .conversation = std::move(conversation),
          .payload = "p",
          .priority = priority};
}

Group group_of(std::vector<std::pair<std::string, std::string>> senders_and_payloads) {
  Group group{"gh", "pr", {}};
  for (auto& [sender, payload] : senders_and_payloads) {
    group.messages.push_back(message_of(static_cast<RowId>(group.messages.size() + 1), "gh", "pr"));
    group.messages.back().sender = sender;
    group.messages.back().payload = payload;
  }
  return group;
}

bool does_match(const Match& match, const Group& group) {
  Rules rules{.routes = {{.match = match}}};
  return decide(rules, group).route == 1;
}

TEST(BufferRules, EachKeyOfAMatchMustHold) {  // KO-012, C-32
  const Group group = group_of({{"ann", "push"}, {"bob", R"({"action":"opened","n":1})"}});
  EXPECT_TRUE(does_match({}, group));
  EXPECT_TRUE(does_match({.channel = "gh"}, group));
  EXPECT_FALSE(does_match({.channel = "g"}, group));
  EXPECT_TRUE(does_match({.from = "bob"}, group)) << "some message, not all";
  EXPECT_FALSE(does_match({.from = "eve"}, group));
  EXPECT_TRUE(does_match({.from = "*"}, group));
  EXPECT_TRUE(does_match({.event = "push"}, group));
  EXPECT_FALSE(does_match({.event = "pus"}, group));
  EXPECT_TRUE(does_match({.action = "opened"}, group));
  EXPECT_FALSE(does_match({.action = "closed"}, group));
  EXPECT_FALSE(does_match({.action = "push"}, group)) << "no JSON";
  EXPECT_TRUE(
      does_match({.channel = "gh", .event = "push", .action = "opened", .from = "ann"}, group));
  EXPECT_FALSE(
      does_match({.channel = "gh", .event = "push", .action = "opened", .from = "eve"}, group));
}

TEST(BufferRules, TheFirstMatchCountsAndTheRestHasTheDefault) {  // KO-012, C-32
  const Group group = group_of({{"ann", "x"}});
  Rules rules{
      .routes = {
          {.match = {.channel = "tg"}},
          {.match = {.from = "ann"}, .action = {Destination::kSpawn, "t", ""}, .priority = 5},
          {.action = {.destination = Destination::kDrop}}}};
  EXPECT_EQ(decide(rules, group).route, 2U);
  EXPECT_EQ(decide(rules, group).priority, 5);
  rules.routes.resize(1);
  EXPECT_EQ(decide(rules, group).action.destination, Destination::kMain);
  rules.fallback = Destination::kDrop;
  EXPECT_EQ(decide(rules, group).action.destination, Destination::kDrop);
  EXPECT_EQ(decide(rules, group).route, 0U);
}

TEST(BufferRules, TheSendersPriorityGoesBeforeThatOfTheRoute) {  // C-29
  Message message = message_of(1, "a", "b", 50);
  EXPECT_EQ(priority_on({}, message), 50);
  EXPECT_EQ(priority_on({.priority = 20}, message), 20);
  message.is_explicit = true;
  EXPECT_EQ(priority_on({.priority = 20}, message), 50);
}

TEST(BufferRules, PlacesOfATaskAreFilled) {  // KO-013, C-32
  Message first = message_of(7, "gh", "pr-1");
  first.payload = R"({"number":12,"title":"a {sender}","on":true,"pull":{"user":"eve"},"l":[1]})";
  EXPECT_EQ(task_text("{sender} {id} {nope}", first), "ann 7 {nope}");
  EXPECT_EQ(task_text("PR {{number}} {number}{on}", first), "PR 12 12true");
  EXPECT_EQ(task_text("{{ pull.user }} {pull} {l} {pull.x.y}", first), "eve {pull} {l} {pull.x.y}");
  EXPECT_EQ(task_text("{title}", first), "a {sender}") << "a value is not filled again";
  EXPECT_EQ(task_text("{channel}/{conversation} {priority}", first), "gh/pr-1 100");
  EXPECT_EQ(task_text("{ {} {{ {a b} }{", first), "{ {} {{ {a b} }{");
  first.payload = "no JSON";
  EXPECT_EQ(task_text("{payload} {number}", first), "no JSON {number}");
}

TEST(BufferRules, DeeplyNestedPayloadsDoNoHarm) {
  constexpr std::size_t kLevels = 200'000;
  std::string payload = R"({"action":)";
  payload += std::string(kLevels, '[') + std::string(kLevels, ']') + "}";
  const Group group = group_of({{"ann", payload}});
  EXPECT_FALSE(does_match({.action = "x"}, group));
  EXPECT_EQ(task_text("{action}", group.messages.front()), "{action}");
}

TEST(BufferGrouping, MessagesOfOneConversationOnOneChannelAreAGroup) {  // KO-007 to KO-010
  // By priority and id, as the router reads them.
  const auto groups = group_rows({message_of(9, "gh", "a", 10), message_of(3, "tg", "a"),
                                  message_of(4, "gh", "a"), message_of(5, "gh", "")});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].channel, "gh");
  ASSERT_EQ(groups[0].messages.size(), 2U);
  EXPECT_EQ(groups[0].messages[0].id, 4) << "within a group by id";
  EXPECT_EQ(groups[0].messages[1].id, 9);
  EXPECT_EQ(groups[1].channel, "tg");
  EXPECT_EQ(groups[2].conversation, "");
}

TEST(BufferGrouping, ABatchIsBoundedInMessagesAndBytes) {
  Group group = group_of({{"a", "11"}, {"a", "22"}, {"a", "33"}, {"a", "4444444"}, {"a", "5"}});
  const auto places = [&](const BatchLimits& limits, const Fill* growing) {
    std::string text;
    for (const Slice& slice : slice_group(group, limits, growing)) {
      text += (slice.joins ? "+" : " ") + std::to_string(slice.begin) + "-" +
              std::to_string(slice.end) + ":" + std::to_string(slice.bytes);
    }
    return text;
  };
  EXPECT_EQ(places({100, 100}, nullptr), " 0-5:14");
  EXPECT_EQ(places({2, 100}, nullptr), " 0-2:4 2-4:9 4-5:1");
  EXPECT_EQ(places({100, 5}, nullptr), " 0-2:4 2-3:2 3-4:7 4-5:1") << "a large one is alone";
  const Fill fill{3, 10};
  EXPECT_EQ(places({4, 100}, &fill), "+0-1:2 1-5:12");
  EXPECT_EQ(places({3, 100}, &fill), " 0-3:6 3-5:8");
  EXPECT_EQ(places({100, 10}, &fill), " 0-3:6 3-5:8");
}

TEST(BufferTimes, TimesComeBackFromTheirTexts) {
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{1'769'860'800'250}}) {
    EXPECT_EQ(parse_time(format_time(ms)), ms);
  }
  EXPECT_EQ(format_time(1'769'860'800'250), "2026-01-31 12:00:00.250");
  EXPECT_EQ(parse_time("2026-01-31 12:00:00"), 1'769'860'800'000);
  EXPECT_EQ(parse_time("2026-01-31T12:00:00.25Z"), 1'769'860'800'250);
  EXPECT_EQ(parse_time("2026-01-31T14:00:00+02:00"), 1'769'860'800'000);
  for (const char* const text : {"", "2026-01-31", "2026-01-31 12:00:00 CET", "now"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

}  // namespace
}  // namespace beeline::buffer
