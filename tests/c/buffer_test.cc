// The durable buffer through the C interface: nonsense is refused before anything is sent.

#include <cstring>
#include <string>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

#define EXPECT_REFUSED_BY_BUFFER(call, words) \
  EXPECT_EQ(call, BEELINE_INVALID);           \
  EXPECT_SAYS(words)

class CBuffer : public CHive {
 protected:
  // A message to itself, held.
  static beeline_message* sent(const CAgent& agent, const char* type, const std::string& text) {
    beeline_send_options options;
    beeline_send_options_init(&options);
    options.type = type;
    const beeline_peer self = beeline_peer_of(beeline_agent_pid(agent.get()));
    beeline_message* message = nullptr;
    EXPECT_OK(beeline_send(agent.get(), self, text.data(), text.size(), kLong, &options, nullptr));
    EXPECT_OK(beeline_receive(agent.get(), kLong, nullptr, &message));
    return message;
  }
};

TEST_F(CBuffer, NullIsRefused) {
  const CAgent agent = attach_c("a");
  beeline_buffer_entry entry;
  beeline_buffer_entry_init(&entry);
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_put(nullptr, nullptr, &entry, 0, nullptr, nullptr),
                           "`agent` is null");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_put(agent.get(), nullptr, nullptr, 0, nullptr, nullptr),
                           "`entry` is null");
  entry.payload_length = 3;
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_put(agent.get(), nullptr, &entry, 0, nullptr, nullptr),
                           "`entry->payload` is null");
  entry.size = 7;
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_put(agent.get(), nullptr, &entry, 0, nullptr, nullptr),
                           "`entry->size` is 7, at least");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_next(nullptr, nullptr, 1), "`agent` is null");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_read(nullptr, nullptr), "`message` is null");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_acknowledge(nullptr, nullptr, 1, nullptr),
                           "`agent` is null");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_describe(agent.get(), nullptr, nullptr),
                           "`status` is null");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_list_tasks(agent.get(), nullptr, nullptr, nullptr),
                           "`tasks` is null");
  beeline_buffer_batch_free(nullptr);
  beeline_buffer_status_free(nullptr);
  beeline_buffer_tasks_free(nullptr);
}

TEST_F(CBuffer, TheNumberOfBatchesHasLimitsAndABufferHasToBeThere) {
  const CAgent agent = attach_c("a");
  for (const std::uint32_t count : {0U, 65U}) {
    EXPECT_REFUSED_BY_BUFFER(beeline_buffer_next(agent.get(), nullptr, count), "ask for 1 to 64");
  }
  EXPECT_EQ(beeline_buffer_next(agent.get(), "store", 1), BEELINE_NO_AGENT);
  EXPECT_SAYS("store");
  std::int64_t id = 7;
  bool is_open = true;
  beeline_buffer_entry entry;
  beeline_buffer_entry_init(&entry);
  entry.channel = "a";
  EXPECT_EQ(beeline_buffer_put(agent.get(), nullptr, &entry, kLong, &id, nullptr),
            BEELINE_NO_AGENT);
  EXPECT_EQ(beeline_buffer_acknowledge(agent.get(), nullptr, 1, &is_open), BEELINE_NO_AGENT);
  EXPECT_EQ(id, 0);
  EXPECT_FALSE(is_open);
}

TEST_F(CBuffer, ABatchOutlivesItsMessage) {
  const CAgent agent = attach_c("a");
  beeline_message* message = sent(
      agent, BEELINE_BUFFER_BATCH,
      R"({"id":7,"channel":"x","conversation":"y","redelivered":true,"messages":[{"id":3,)"
      R"("channel":"x","sender":"s","conversation":"y","payload":"a\u0000b","received_at":"t",)"
      R"("priority":-1}]})");
  beeline_buffer_batch* batch = nullptr;
  ASSERT_OK(beeline_buffer_read(message, &batch));
  beeline_message_done(message, nullptr, 0);
  beeline_buffer_batch* none = batch;
  EXPECT_EQ(beeline_buffer_read(message, &none), BEELINE_CLOSED);
  EXPECT_EQ(none, nullptr);
  beeline_message_free(message);
  EXPECT_EQ(batch->id, 7);
  EXPECT_STREQ(batch->channel, "x");
  EXPECT_STREQ(batch->conversation, "y");
  EXPECT_TRUE(batch->redelivered);
  ASSERT_EQ(batch->count, 1U);
  const beeline_buffered_message& first = batch->items[0];
  EXPECT_EQ(first.id, 3);
  EXPECT_EQ(first.priority, -1);
  EXPECT_EQ(std::string(first.payload, first.payload_length), std::string("a\0b", 3));
  EXPECT_EQ(std::string(first.channel) + first.sender + first.conversation + first.received_at,
            "xsyt");
  beeline_buffer_batch_free(batch);
}

TEST_F(CBuffer, AMessageThatIsNoBatchIsRefused) {
  const CAgent agent = attach_c("a");
  beeline_buffer_batch* batch = nullptr;
  beeline_message* message = sent(agent, "hello", "{}");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_read(message, &batch), "has the type \"hello\"");
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
  message = sent(agent, BEELINE_BUFFER_BATCH, "{}");
  EXPECT_REFUSED_BY_BUFFER(beeline_buffer_read(message, &batch), "it is no batch of a buffer");
  EXPECT_EQ(batch, nullptr);
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
}

}  // namespace
}  // namespace beeline::test
