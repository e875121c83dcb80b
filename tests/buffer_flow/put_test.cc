// Puts: on the disk when they are acknowledged, each once, whatever is killed.

#include "tests/buffer_flow/flow_fixture.h"

namespace beeline::test {
namespace {

// KO-002, KO-003, KO-028, C-36: nothing that was acknowledged is lost by a kill.
TEST_F(BufferFlow, APutIsOnTheDiskWhenItReturns) {
  start_ready();
  const std::string id = good({"buffer", "put", "--channel", "telegram", "--sender", "ann",
                               "--conversation", "c1", "--priority", "10", "hello"});
  (void)stop(SIGKILL);
  const json row =
      good_json({"buffer", "show", "message", id.substr(0, id.size() - 1), "--db", db_});
  EXPECT_EQ(row.at("payload"), "hello");
  EXPECT_EQ(row.at("channel"), "telegram");
  EXPECT_EQ(row.at("sender"), "ann");
  EXPECT_EQ(row.at("conversation"), "c1");
  EXPECT_EQ(row.at("priority"), 10);
}

TEST_F(BufferFlow, ARepeatedKeyWritesOneRow) {
  start_ready();
  Agent agent = attach("putter");
  const json request{{"channel", "c"}, {"payload", {{"a", 1}}}, {"key", "k"}};
  const json first = ask(agent, "buffer.put", request);
  EXPECT_EQ(first.at("repeated"), false);
  (void)stop(SIGKILL);
  start();
  const json second = ask(agent, "buffer.put", request);
  EXPECT_EQ(second.at("repeated"), true);
  EXPECT_EQ(second.at("id"), first.at("id"));
  const json row = ask(agent, "buffer.show", {{"message", first.at("id")}}).at("message");
  EXPECT_EQ(row.at("payload"), R"({"a":1})");
  EXPECT_EQ(row.at("sender"), "putter");
}

// KO-001: any message is a put; its acknowledgement means that it is on the disk.
TEST_F(BufferFlow, APlainMessageIsAcknowledgedAfterItsCommit) {
  start_ready();
  Agent agent = attach("cron");
  SendOptions options;
  options.type = "reminder";
  auto word = agent.send_acked("buffer", "one", after(std::chrono::seconds(60)), options);
  ASSERT_TRUE(word) << word.error().text;
  EXPECT_EQ(word->status, AckStatus::kAccepted);
  options.channel = "notes";
  word = agent.send_acked("buffer", "two", after(std::chrono::seconds(60)), options);
  ASSERT_TRUE(word) << word.error().text;
  (void)stop(SIGKILL);
  EXPECT_EQ(sql("SELECT group_concat(channel || ':' || sender || ':' || payload) FROM buffer"),
            "reminder:cron:one,notes:cron:two");
  // A payload that the table cannot have is a dead letter.
  start();
  word = agent.send_acked("buffer", "\xff", after(std::chrono::seconds(60)), options);
  ASSERT_TRUE(word) << word.error().text;
  EXPECT_EQ(word->status, AckStatus::kRejected);
  EXPECT_TRUE(contains(word->reply, "invalid: ")) << word->reply;
}

// A message that comes again after a kill between its commit and its answer is written once.
TEST_F(BufferFlow, AKillBetweenCommitAndAnswerDoublesNothing) {
  start_ready();
  Agent agent = attach("putter");
  SendOptions options;
  options.type = "buffer.put";
  // Until the kill has come before the answer.
  bool is_repeat = false;
  for (int i = 1; i <= 500 && !is_repeat; ++i) {
    std::optional<json> answer;
    const auto sent = agent.request_then(
        "buffer", json{{"channel", "c"}, {"payload", std::to_string(i)}}.dump(),
        after(std::chrono::seconds(60)),
        [&](Result<Message> got) {
          EXPECT_TRUE(got) << got.error().text;
          answer = got ? json::parse(got->text()) : json();
          agent.stop_serving();
        },
        options);
    ASSERT_TRUE(sent);
    await([&] { return count("buffer") == i; });
    (void)stop(SIGKILL);
    start();
    while (!answer) (void)agent.serve([](Message&) { return Ack{}; });
    EXPECT_EQ(answer->at("id"), i);
    is_repeat = answer->at("repeated").get<bool>();
    EXPECT_EQ(count("buffer"), i);
  }
  EXPECT_TRUE(is_repeat);
}

TEST_F(BufferFlow, AWrongRequestNamesItsKey) {
  start_ready();
  Agent agent = attach("putter");
  const auto refused = [&](const std::string& type, const json& request) {
    const json answer = ask(agent, type, request);
    EXPECT_EQ(answer["error"].value("code", ""), "invalid") << answer;
    return answer["error"].value("text", "");
  };
  EXPECT_TRUE(contains(refused("buffer.put", {{"channel", "c"}}), "\"payload\" is missing"));
  EXPECT_TRUE(contains(refused("buffer.put", {{"channel", ""}, {"payload", "x"}}), "channel"));
  EXPECT_TRUE(contains(refused("buffer.ack", {{"batch", 7}}), "no batch 7"));
  EXPECT_TRUE(contains(refused("buffer.give_back", {{"batch", 7}}), "batch 7 is not handed out"));
  EXPECT_TRUE(contains(refused("buffer.cancel_job", {{"id", 7}}), "job 7"));
  EXPECT_TRUE(contains(refused("buffer.fly", json::object()), "buffer.put"));
  EXPECT_EQ(ask(agent, "buffer.show", {{"task", 7}})["error"].value("text", ""),
            "there is no task 7");
  // A credit has no answer: it is a dead letter.
  SendOptions options;
  options.type = "buffer.next";
  const auto word =
      agent.send_acked("buffer", R"({"count":65})", after(std::chrono::seconds(60)), options);
  ASSERT_TRUE(word) << word.error().text;
  EXPECT_EQ(word->status, AckStatus::kRejected);
  EXPECT_TRUE(contains(word->reply, "1 to 64")) << word->reply;
}

}  // namespace
}  // namespace beeline::test
