// Requests to the buffer have each field; an answer of another form names its fault, and no bytes
// end the process.

#include "src/agent/buffer_json.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

namespace beeline {
namespace {

using Json = nlohmann::json;

Json sent_json(const Result<std::string>& request) {
  EXPECT_TRUE(request) << request.error().text;
  return request ? Json::parse(*request) : Json();
}

constexpr std::string_view kReceipt = R"({"id":9007199254740993,"repeated":true,"more":[]})";
constexpr std::string_view kBatch =
    R"({"id":7,"channel":"telegram","conversation":"c","redelivered":true,"messages":[{"id":3,)"
    R"("channel":"telegram","sender":"ann","conversation":"c","payload":"{\"a\":1}",)"
    R"("received_at":"2026-01-31 12:00:00.250","priority":-10}]})";
constexpr std::string_view kStatus =
    R"({"unrouted":5,"oldest_age_ms":1500,"channels":[{"channel":"a","unrouted":5,)"
    R"("oldest_age_ms":1500}],"waiting_batches":1,"waiting_messages":2,"leased_batches":3,)"
    R"("leased_messages":4,"waiting_tasks":6,"open_tasks":8,"commits":99})";
constexpr std::string_view kTasks =
    R"({"tasks":[{"id":2,"batch":7,"channel":"git","conversation":"pr-1","template":"review",)"
    R"("text":"look","status":"failed","pid":12,"exit_code":-3,"result":"no"},{"id":1,"batch":6,)"
    R"("channel":"git","conversation":"","template":"review","text":"","status":"waiting",)"
    R"("pid":0,"exit_code":null,"result":""}]})";

// KO-028: the provenance of a message goes with it.
TEST(BufferJson, APutHasAllFieldsAndLeavesEmptyOnesOut) {
  EXPECT_EQ(sent_json(put_request({.channel = "telegram", .payload = "x"})),
            Json({{"channel", "telegram"}, {"payload", "x"}}));
  EXPECT_EQ(sent_json(put_request({.channel = "a",
                                   .sender = "b",
                                   .conversation = "c",
                                   .payload = "{\"d\": \"\\u0000\"}",
                                   .priority = 0,
                                   .key = "e"})),
            Json({{"channel", "a"},
                  {"sender", "b"},
                  {"conversation", "c"},
                  {"payload", "{\"d\": \"\\u0000\"}"},
                  {"priority", 0},
                  {"key", "e"}}));
}

TEST(BufferJson, TheOtherRequestsNameTheirNumbers) {
  EXPECT_EQ(Json::parse(next_request(64)), Json({{"count", 64}}));
  EXPECT_EQ(Json::parse(acknowledge_request(-5)), Json({{"batch", -5}}));
  EXPECT_EQ(sent_json(tasks_request("")), Json({{"what", "tasks"}, {"most", 1000}}));
  EXPECT_EQ(sent_json(tasks_request("failed"))["status"], "failed");
}

TEST(BufferJson, ATextThatIsNoUtf8IsRefused) {
  const auto refused = put_request({.channel = "a", .payload = "\xff"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_NE(refused.error().text.find("no UTF-8"), std::string::npos) << refused.error().text;
  EXPECT_FALSE(tasks_request("\xff"));
}

TEST(BufferJson, AnswersAreRead) {
  const auto receipt = read_receipt(kReceipt);
  ASSERT_TRUE(receipt) << receipt.error().text;
  EXPECT_EQ(receipt->id, 9007199254740993) << "a number that a double does not hold";
  EXPECT_TRUE(receipt->repeated);
  EXPECT_TRUE(read_acknowledged(R"({"was_open":true})").value());

  const auto status = read_status(kStatus);
  ASSERT_TRUE(status) << status.error().text;
  EXPECT_EQ(status->unrouted + status->waiting_batches + status->waiting_messages, 8U);
  EXPECT_EQ(status->leased_batches * 100 + status->leased_messages, 304U);
  EXPECT_EQ(status->waiting_tasks * 100 + status->open_tasks, 608U);
  ASSERT_EQ(status->channels.size(), 1U);
  EXPECT_EQ(status->channels.front().channel, "a");
  EXPECT_EQ(status->channels.front().oldest_age, std::chrono::milliseconds(1500));

  const auto tasks = read_tasks(kTasks);
  ASSERT_TRUE(tasks) << tasks.error().text;
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->front().agent_template + tasks->front().text, "reviewlook");
  EXPECT_EQ(tasks->front().exit_code, -3);
  EXPECT_EQ(tasks->front().pid, 12U);
  EXPECT_FALSE(tasks->back().exit_code);
}

// KO-008: a batch has its messages, and at least one.
TEST(BufferJson, ABatchIsRead) {
  const auto batch = read_batch(kBatch);
  ASSERT_TRUE(batch) << batch.error().text;
  EXPECT_EQ(batch->id, 7);
  EXPECT_EQ(batch->channel + batch->conversation, "telegramc");
  EXPECT_TRUE(batch->redelivered);
  ASSERT_EQ(batch->messages.size(), 1U);
  const BufferedMessage& message = batch->messages.front();
  EXPECT_EQ(message.id, 3);
  EXPECT_EQ(message.sender + message.payload, "ann{\"a\":1}");
  EXPECT_EQ(message.received_at, "2026-01-31 12:00:00.250");
  EXPECT_EQ(message.priority, -10);
}

TEST(BufferJson, AnErrorOfTheBufferKeepsItsCodeAndItsWords) {
  const auto full = read_receipt(R"({"error":{"code":"full","text":"buffer.db: disk full"}})");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kFull);
  EXPECT_EQ(full.error().text, "buffer.db: disk full");
  const auto odd = read_status(R"({"error":7})");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(odd.error().text, "the buffer refused buffer.status and gave no reason");
}

struct BrokenText {
  std::string text;
  std::string words;
};

TEST(BufferJson, AnAnswerOfAnotherFormNamesTheValue) {
  const std::array<BrokenText, 8> broken = {
      BrokenText{"", "\"id\" must be a number, it is nothing"},
      BrokenText{"\xff", "\"id\" must be a number, it is nothing"},
      BrokenText{"[1]", "\"id\" must be a number, it is nothing"},
      BrokenText{R"({"id":"7"})", "it is \"7\""},
      BrokenText{R"({"id":1e3})", "it is 1000.0"},
      BrokenText{R"({"id":18446744073709551615})", "it is 18446744073709551615"},
      BrokenText{R"({"id":7})", "\"repeated\" must be true or false, it is nothing"},
      BrokenText{R"({"id":7,"repeated":[[1]]})",
                 "\"repeated\" must be true or false, it is a list"},
  };
  for (const BrokenText& each : broken) {
    const auto read = read_receipt(each.text);
    ASSERT_FALSE(read) << each.text;
    EXPECT_EQ(read.error().code, ErrorCode::kProtocol);
    EXPECT_NE(read.error().text.find(each.words), std::string::npos) << read.error().text;
    EXPECT_NE(read.error().text.find("the buffer broke the form of its answer to buffer.put"),
              std::string::npos);
  }
  EXPECT_FALSE(read_tasks(R"({"tasks":[7]})"));
  EXPECT_FALSE(read_tasks(R"({"tasks":{}})"));
  EXPECT_FALSE(read_acknowledged(R"({"was_open":1})"));
  Json status = Json::parse(kStatus);
  status["channels"][0]["unrouted"] = -1;
  EXPECT_FALSE(read_status(status.dump()));
}

TEST(BufferJson, AMessageThatIsNoBatchIsInvalid) {
  Json none = Json::parse(kBatch);
  none["messages"] = Json::array();
  Json holed = Json::parse(kBatch);
  holed["messages"][0].erase("payload");
  const std::array<BrokenText, 4> broken = {
      BrokenText{"hello", "it is no batch of a buffer: \"id\" must be a number"},
      BrokenText{std::string(50'000, '['), "\"id\" must be a number, it is nothing"},
      BrokenText{none.dump(), "\"messages\" must have one at least"},
      BrokenText{holed.dump(), "\"payload\" must be a text, it is nothing"},
  };
  for (const BrokenText& each : broken) {
    const auto read = read_batch(each.text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_NE(read.error().text.find(each.words), std::string::npos) << read.error().text;
  }
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const auto read = read_batch(R"({"id":)" + deep + "}");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text.find("it is a list"), std::string::npos) << read.error().text;
}

// Bytes that were changed, cut or doubled are read or refused; the sanitizers see the rest.
TEST(BufferJson, HostileBytesAreReadOrRefused) {
  constexpr int kRounds = 1'000;
  std::mt19937 random(7);
  const auto below = [&random](std::size_t end) { return random() % end; };
  int refused = 0;
  for (int i = 0; i < kRounds; ++i) {
    for (const std::string_view good : {kReceipt, kBatch, kStatus, kTasks}) {
      std::string text(good);
      for (std::size_t change = below(3) + 1; change > 0; --change) {
        text[below(text.size())] = static_cast<char>(below(256));
      }
      if (below(4) == 0) text.resize(below(text.size()));
      if (below(8) == 0) text += text;
      const auto batch = read_batch(text);
      EXPECT_TRUE(batch ? !batch->messages.empty() : batch.error().code == ErrorCode::kInvalid);
      refused += read_receipt(text) ? 0 : 1;
      refused += read_status(text) ? 0 : 1;
      refused += read_tasks(text) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, kRounds);
}

}  // namespace
}  // namespace beeline
