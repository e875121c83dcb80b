// Structs of other versions than ours.

#include <cstddef>
#include <cstring>

#include "src/c/options.h"
#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

// Options as they were in the first version, and as they are in the third, which is this one.
struct First {
  std::size_t size;
  std::uint64_t one;
};
struct Third {
  std::size_t size;
  std::uint64_t one;
  std::uint64_t two;
  std::uint64_t three;
};
void set_defaults(Third* options) { *options = {sizeof *options, 1, 2, 3}; }

beeline_code read(const void* given, Third& options) {
  return c::read_sized("call", "options", static_cast<const Third*>(given), sizeof(First),
                       set_defaults, options);
}

TEST(CSizes, AnOlderCallerGetsTheDefaultsOfNewerFields) {
  const First given{sizeof given, 10};
  Third options{};
  ASSERT_EQ(read(&given, options), BEELINE_OK);
  EXPECT_EQ(options.one, 10U);
  EXPECT_EQ(options.two, 2U);
  EXPECT_EQ(options.three, 3U);
  const Third partly{offsetof(Third, three), 10, 20, 30};
  ASSERT_EQ(read(&partly, options), BEELINE_OK);
  EXPECT_EQ(options.two, 20U);
  EXPECT_EQ(options.three, 3U);
  ASSERT_EQ(read(nullptr, options), BEELINE_OK);
  EXPECT_EQ(options.one, 1U);
}

TEST(CSizes, ANewerCallerIsUnderstoodUnlessItAsksForMore) {
  struct Fourth : Third {
    std::uint64_t four;
  };
  Fourth given{{sizeof(Fourth), 10, 20, 30}, 0};
  Third options{};
  ASSERT_EQ(read(&given, options), BEELINE_OK);
  EXPECT_EQ(options.three, 30U);
  given.four = 1;
  EXPECT_EQ(read(&given, options), BEELINE_INVALID);
  EXPECT_SAYS("call: `options` sets fields that version");
}

TEST(CSizes, ASizeThatWasNotSetIsRefused) {
  Third options{};
  for (const std::size_t size : {std::size_t{0}, sizeof(First) - 1}) {
    const Third given{size, 10, 20, 30};
    EXPECT_EQ(read(&given, options), BEELINE_INVALID);
    EXPECT_SAYS("at least 16 is needed");
  }
}

TEST(CSizes, ResultsOfEachVersionAreFilled) {
  Third results{0, 10, 20, 30};
  Third wanted{sizeof(First), 7, 7, 7};
  ASSERT_EQ(c::write_sized("call", "found", &wanted, sizeof(First), results), BEELINE_OK);
  EXPECT_EQ(wanted.size, sizeof(First));
  EXPECT_EQ(wanted.one, 10U);
  EXPECT_EQ(wanted.two, 7U);
  First fewer{0, 11};
  wanted = {sizeof wanted, 7, 7, 7};
  ASSERT_EQ(
      c::write_sized("call", "found", reinterpret_cast<First*>(&wanted), sizeof(First), fewer),
      BEELINE_OK);
  EXPECT_EQ(wanted.one, 11U);
  EXPECT_EQ(wanted.three, 0U);
  wanted.size = 0;
  EXPECT_EQ(c::write_sized("call", "found", &wanted, sizeof(First), results), BEELINE_INVALID);
}

class CStructs : public CHive {};

TEST_F(CStructs, EachStructTellsItsSize) {
  const CAgent agent = attach_c("a");
  beeline_agent* const a = agent.get();
  const beeline_peer self = find(agent, "a");
  beeline_message* message = message_of(agent);
  beeline_attach_options attach{};
  beeline_send_options send{};
  beeline_filter filter{};
  beeline_work work{};
  beeline_counters counters{};
  beeline_readiness readiness{};
  beeline_message_info info{};
  beeline_agent* agent_out = nullptr;
  beeline_attaching* attaching = nullptr;
  beeline_inbox* inbox = nullptr;
  beeline_event* event = nullptr;
  beeline_message* out = nullptr;
  beeline_deliveries* deliveries = nullptr;
  beeline_ack ack{};
  beeline_id id = 0;
  std::size_t count = 0;
  const beeline_question question{self, "a", 1, &send};
  beeline_answer answer{};
  for (const beeline_code code : {beeline_attach(&attach, &agent_out),
                                  beeline_attach_start(&attach, &attaching),
                                  beeline_send(a, self, "a", 1, 0, &send, nullptr),
                                  beeline_fire_and_forget(a, self, "a", 1, &send, nullptr),
                                  beeline_send_control(a, self, "a", 1, "a", 1, &send, nullptr),
                                  beeline_escalate(a, "a", 1, &send, nullptr),
                                  beeline_request(a, self, "a", 1, 0, &send, &out),
                                  beeline_request_all(a, &question, 1, 0, &answer),
                                  beeline_request_start(a, self, "a", 1, 0, &send, &id),
                                  beeline_send_acked(a, self, "a", 1, 0, &send, &ack),
                                  beeline_send_acked_start(a, self, "a", 1, 0, &send, &id),
                                  beeline_broadcast(a, 0, nullptr, "a", 1, &send, &deliveries),
                                  beeline_reply(message, "a", 1, 0, &send, nullptr),
                                  beeline_receive(a, 0, &filter, &out),
                                  beeline_receive_batch(a, 0, &filter, &out, 1, &count),
                                  beeline_list_inbox(a, 1, &filter, &inbox),
                                  beeline_execute(a, self, &work, 0, &event),
                                  beeline_execute_start(a, self, &work, 0, &id),
                                  beeline_count(a, &counters),
                                  beeline_poll(a, &readiness),
                                  beeline_message_describe(message, &info)}) {
    EXPECT_EQ(code, BEELINE_INVALID);
  }
  EXPECT_SAYS("`info->size` is 0, at least");
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
}

}  // namespace
}  // namespace beeline::test
