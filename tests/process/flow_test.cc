// Flows of messages between agents. Each is written once and runs with threads of one process and
// with processes.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/hive_test.h"
#include "tests/support/payload.h"
#include "tests/support/soak.h"

namespace beeline::test {
namespace {

class Flow : public HiveTest {};
BEELINE_BOTH_WORLDS(Flow);

// ---- Echo ---------------------------------------------------------------------------------------

constexpr std::string_view kStop = "stop";

// Answers every message until it is told to stop.
BEELINE_ROLE(echo) {
  auto agent = attach("echo");
  ASSERT_TRUE(agent);
  for (;;) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    const bool last = message.type() == kStop;
    EXPECT_TRUE(agent->reply(message, message.payload()));
    message.done();
    if (last) break;
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(Flow, EchoesPayloadsOfEverySize) {
  auto agent = attach("caller");
  ASSERT_TRUE(agent);
  troupe().start("echo");
  const Peer echo = peer_of(*agent, "echo");
  std::vector<std::size_t> sizes{24, 63, 64, 65, 1024, 1025, 8192, 8193, 65536, 65537, 1 << 20};
  for (std::uint64_t i = 0; i < 2000; ++i) sizes.push_back(mixed_length(mix(i)));
  std::uint64_t sequence = 0;
  for (const std::size_t size : sizes) {
    std::vector<std::byte> payload(size);
    write_payload(payload, {1, 2, ++sequence, 0});
    const SendOptions options{.type = sequence == sizes.size() ? kStop : ""};
    auto answer = agent->request(echo, payload, patience(), options);
    ASSERT_TRUE(answer) << answer.error().text;
    const auto head = read_payload(answer->payload());
    ASSERT_TRUE(head) << size;
    EXPECT_EQ(head->sequence, sequence);
    EXPECT_EQ(answer->payload().size(), size);
    EXPECT_FALSE(answer->redelivered());
    answer->done();
  }
  troupe().wait_all(patience());
  const InboxCounters counters = agent->counters();
  EXPECT_EQ(counters.done, sizes.size());
  expect_balance(*agent);
}

// ---- Many to one --------------------------------------------------------------------------------

constexpr std::uint32_t kFloodSenders = 8;
// The same for the test and the senders, because they share one environment.
std::uint64_t flood_messages() { return is_soak() ? 1'000'000 : is_brief() ? 50'000 : 200'000; }

std::int32_t flood_rank(std::uint64_t sequence) { return sequence % 4 == 0 ? kHigh : kNormal; }

BEELINE_ROLE(flood) {
  auto agent = attach("flood-" + std::to_string(context.number));
  ASSERT_TRUE(agent);
  const Peer sink = peer_of(*agent, "sink");
  std::vector<std::byte> buffer(1 << 17);
  for (std::uint64_t i = 1; i <= flood_messages() / kFloodSenders; ++i) {
    const auto payload =
        std::span(buffer).first(mixed_length(mix(i * kFloodSenders + context.number)));
    write_payload(payload, {context.number, 0, i, 0});
    const SendResult sent = agent->send_until(sink, payload, patience(), {.rank = flood_rank(i)});
    ASSERT_EQ(sent.status, SendStatus::kOk) << to_string(sent.status);
  }
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(Flow, TakesAFloodOfEightSendersInTheirOrder) {
  auto agent = attach("sink");
  ASSERT_TRUE(agent);
  for (std::uint32_t i = 0; i < kFloodSenders; ++i) troupe().start("flood", i);
  std::uint64_t last[kFloodSenders][kLow] = {};
  std::uint64_t count[kFloodSenders] = {};
  for (std::uint64_t i = 0; i < flood_messages(); ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid()) << "after " << i << " messages";
    const auto head = read_payload(message.payload());
    ASSERT_TRUE(head && head->sender < kFloodSenders)
        << "message " << message.id() << " is damaged";
    ASSERT_EQ(message.rank(), flood_rank(head->sequence));
    std::uint64_t& before = last[head->sender][message.rank()];
    ASSERT_LT(before, head->sequence) << "flood-" << head->sender << " is out of order";
    ASSERT_FALSE(message.redelivered());
    before = head->sequence;
    ++count[head->sender];
    message.done();
  }
  for (const std::uint64_t of_sender : count)
    EXPECT_EQ(of_sender, flood_messages() / kFloodSenders);
  EXPECT_FALSE(agent->try_receive());
  troupe().wait_all(patience());
  EXPECT_EQ(agent->counters().done, flood_messages());
  expect_balance(*agent);
}

// ---- Loans --------------------------------------------------------------------------------------

constexpr std::size_t kLoanBytes = 64U << 20;
constexpr std::uint64_t kLoans = 6;

BEELINE_ROLE(lender) {
  auto agent = attach("lender");
  ASSERT_TRUE(agent);
  const Peer reader = peer_of(*agent, "reader");
  std::vector<const std::byte*> places;
  for (std::uint64_t i = 1; i <= kLoans; ++i) {
    auto loan = agent->loan_until(reader, kLoanBytes, patience());
    ASSERT_TRUE(loan) << loan.error().text;
    ASSERT_EQ(loan->size(), kLoanBytes);
    const std::byte* place = loan->bytes().data();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    write_payload(loan->bytes(), {0, 0, i, 0});
    const SendResult sent = agent->send(*loan);
    ASSERT_EQ(sent.status, SendStatus::kOk) << to_string(sent.status);
    EXPECT_FALSE(loan->valid());
  }
  EXPECT_LE(places.size(), 2U) << "the memory of finished payloads is not used again";
  const auto too_big = agent->loan(reader, kLoanBytes + 1);
  EXPECT_TRUE(!too_big && too_big.error().code == ErrorCode::kTooBig);
  EXPECT_EQ(agent->detach(patience()), 0U);
}

TEST_P(Flow, ReadsLoansOf64MiBInPlaceAndUsesTheirMemoryAgain) {
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  troupe().start("lender");
  for (std::uint64_t i = 1; i <= kLoans; ++i) {
    Message message = next_message(*agent);
    ASSERT_TRUE(message.valid());
    ASSERT_EQ(message.payload().size(), kLoanBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.payload().data()) % 4096, 0U);
    const auto head = read_payload(message.payload());
    ASSERT_TRUE(head);
    EXPECT_EQ(head->sequence, i);
    message.done();
  }
  troupe().wait_all(patience());
  expect_balance(*agent);
}

TEST_P(Flow, RefusesALoanWhileTheReaderHoldsAllMemory) {
  auto agent = attach("owner");
  auto reader = attach("holder");
  ASSERT_TRUE(agent && reader);
  const Peer to = peer_of(*agent, "holder");
  for (int i = 0; i < 2; ++i) {
    auto loan = agent->loan(to, kLoanBytes);
    ASSERT_TRUE(loan) << loan.error().text;
    EXPECT_TRUE(agent->send(*loan));
  }
  Message first = next_message(*reader);
  const auto refused = agent->loan(to, kLoanBytes);
  EXPECT_TRUE(!refused && refused.error().code == ErrorCode::kFull);
  first.done();
  EXPECT_TRUE(agent->loan_until(to, kLoanBytes, patience()));
  expect_balance(*reader);
}

}  // namespace
}  // namespace beeline::test
