// What the errors of sends and waits say: what, the limit, the value, what to do next.

#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

class FlowErrorText : public HiveTest {};
BEELINE_BOTH_WORLDS(FlowErrorText);

void expect_words(const Error& error, ErrorCode code,
                  std::initializer_list<std::string_view> words) {
  EXPECT_EQ(error.code, code) << error.text;
  for (const std::string_view word : words) {
    EXPECT_NE(error.text.find(word), std::string::npos) << word << " is not in: " << error.text;
  }
}

template <typename T>
void expect_error(const Result<T>& result, ErrorCode code,
                  std::initializer_list<std::string_view> words) {
  ASSERT_FALSE(result);
  expect_words(result.error(), code, words);
}

AttachOptions narrow() {
  AttachOptions options = named("asker");
  options.max_payload_bytes = 64U << 10;
  options.max_hops = 0;
  options.normal_slots = 2;
  return options;
}

TEST_P(FlowErrorText, ARequestThatIsNotSentSaysWhyWithLimitAndValue) {
  auto agent = attach(narrow());
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "asker");
  const std::string large(70'000, 'x');
  const std::string type(52, 't');
  expect_error(agent->request(to, large, patience()), ErrorCode::kTooBig,
               {"payload", "70000 bytes", "65536", "nothing was sent"});
  expect_error(agent->request(to, "", patience(), {.type = type}), ErrorCode::kTooBig,
               {"the type \"ttt", "52 bytes", "the limit is 31"});
  expect_error(agent->request(to, "", patience(), {.channel = type}), ErrorCode::kTooBig,
               {"the channel", "52 bytes", "the limit is 31"});
  expect_error(agent->request(to, "", Deadline::max()), ErrorCode::kInvalid,
               {"to agent " + std::to_string(to.pid) + ":", "needs a deadline"});

  ASSERT_TRUE(agent->send(to, "begin"));
  Message begin = next_message(*agent);
  ASSERT_TRUE(begin.valid());
  expect_error(agent->request(to, "", patience()), ErrorCode::kLoop, {"max_hops = 0", "inherit"});
  begin.done();
  expect_balance(*agent);
}

TEST_P(FlowErrorText, AWaitThatEndsSaysHowLongItWasAndWhatToDo) {
  auto agent = attach("asker");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "asker");
  expect_error(agent->receive({.timeout = 3ms}), ErrorCode::kTimeout,
               {"no message came within 3 ms", "wait longer"});
  expect_error(agent->receive({.timeout = 1ms, .filter = {.type = "none"}}), ErrorCode::kTimeout,
               {"filter", "within 1 ms"});
  expect_error(agent->request(to, "?", after(2ms)), ErrorCode::kTimeout,
               {"no answer within ", " ms;", "drain_pending_results()"});
  expect_error(agent->await_ack(to, 77, after(2ms)), ErrorCode::kTimeout,
               {"no acknowledgement within ", "await_ack()"});
  while (auto message = agent->try_receive()) message->done();
  EXPECT_EQ(agent->detach(patience()), 0U);
  expect_error(agent->receive(), ErrorCode::kClosed, {"attach again"});
  expect_error(agent->request(to, "?", patience()), ErrorCode::kNoRoute, {"left", "attach again"});
}

}  // namespace
}  // namespace beeline::test
