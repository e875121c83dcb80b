// Requests to a buffer: their keys, types and limits.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/buffer/service/request.h"

namespace beeline::buffer {
namespace {

TEST(BufferRequests, EachKindIsRead) {
  const auto put = parse_request(
      "buffer.put",
      R"({"channel":"c","sender":"s","conversation":"v","payload":[1,"x"],"priority":-3,)"
      R"("key":"k"})");
  ASSERT_TRUE(put) << put.error().text;
  const Put& message = std::get<PutRequest>(*put).put;
  EXPECT_EQ(message.channel + message.sender + message.conversation + message.key, "csvk");
  EXPECT_EQ(message.payload, R"([1,"x"])");
  EXPECT_EQ(message.priority, -3);
  EXPECT_EQ(std::get<NextRequest>(*parse_request("buffer.next", "")).count, 1U);
  EXPECT_EQ(std::get<NextRequest>(*parse_request("buffer.next", R"({"count":64})")).count, 64U);
  EXPECT_EQ(std::get<TakeRequest>(*parse_request("buffer.take", "{}")).timeout.count(), 0);
  EXPECT_EQ(std::get<ShowRequest>(*parse_request("buffer.show", R"({"task":7})")).what, "task");
  EXPECT_EQ(std::get<PruneRequest>(*parse_request("buffer.prune", R"({"days":0})")).days, 0U);
  const auto job =
      parse_request("buffer.job", R"({"at":"2026-01-31T12:00:00.5+01:00","text":"x"})");
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_EQ(std::get<JobRequest>(*job).job.due_unix_ms, 1'769'857'200'500);
}

TEST(BufferRequests, TheFirstMistakeIsNamed) {
  struct Case {
    const char* type;
    std::string payload;
    const char* words;
  };
  const std::vector<Case> cases = {
      {"buffer.put", R"({"channel":1,"payload":"x"})", "\"channel\" must be a text, it is 1"},
      {"buffer.put", R"({"channel":"c","payload":7})", "\"payload\" must be a text, an object or"},
      {"buffer.put", R"({"channel":"c"})", "\"payload\" is missing"},
      {"buffer.put", R"({"channel":"c","payload":"","who":1})", "unknown key \"who\"; it knows"},
      {"buffer.put", R"({"channel":"c","payload":"","priority":2147483648})",
       "\"priority\" must be a number from -2147483648 to 2147483647, it is 2147483648"},
      {"buffer.put", R"({"channel":"c","payload":"","priority":1.5})", "it is 1.5"},
      {"buffer.put", "{", "no JSON"},
      {"buffer.put", "[]", "must be a JSON object"},
      {"buffer.next", R"({"count":0})", "from 1 to 64, it is 0"},
      {"buffer.take", R"({"timeout_ms":-1})", "it is -1"},
      {"buffer.ack", "{}", "\"batch\" is missing"},
      {"buffer.ack", R"({"batch":18446744073709551615})", "it is 18446744073709551615"},
      {"buffer.status", R"({"a":1})", "unknown key \"a\"; it knows none"},
      {"buffer.list", R"({"what":"all"})", "messages, batches or tasks, it is \"all\""},
      {"buffer.list", R"({"what":"messages","status":"x"})", "\"status\" is for batches and tasks"},
      {"buffer.list", R"({"what":"tasks","status":"lost"})",
       "running, completed, failed, it is \"lost\""},
      {"buffer.list", R"({"what":"batches","status":"wait"})",
       "of waiting, leased, it is \"wait\""},
      {"buffer.show", R"({"task":1,"batch":1})", "give one of"},
      {"buffer.show", "{}", "give one of"},
      {"buffer.job", R"({"at":"soon","text":"x"})", "\"at\" must be a time like"},
      {"buffer.ack", '"' + std::string(300'000, 'x') + '"', "has 300002 bytes, at most 262144"},
      {"buffer.fly", "", "it knows buffer.put, buffer.next"},
  };
  for (const Case& each : cases) {
    const auto request = parse_request(each.type, each.payload);
    ASSERT_FALSE(request) << each.type << each.words;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalid);
    EXPECT_NE(request.error().text.find(each.words), std::string::npos) << request.error().text;
    EXPECT_NE(request.error().text.find(each.type), std::string::npos) << request.error().text;
  }
}

}  // namespace
}  // namespace beeline::buffer
