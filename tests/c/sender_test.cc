// Threads send through an agent, and the agent is closed meanwhile.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

class CSender : public CHive {};

TEST_F(CSender, ThreadsSendUntilTheAgentIsClosed) {
  CAgent from = attach_c("from");
  const CAgent to = attach_c("to");
  const beeline_peer peer = find(from, "to");
  beeline_sender* sender = nullptr;
  ASSERT_OK(beeline_sender_new(from.get(), &sender));
  std::atomic<std::uint64_t> sent = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      // Two of them wait for room for ever, and nobody makes any.
      const std::int64_t timeout = i < 2 ? 0 : BEELINE_FOREVER;
      for (;;) {
        const beeline_code code =
            beeline_sender_send(sender, peer, "text", 4, timeout, nullptr, nullptr);
        if (code == BEELINE_OK) ++sent;
        if (code == BEELINE_CLOSED) return;
        EXPECT_TRUE(code == BEELINE_OK || code == BEELINE_FULL) << beeline_error_text();
      }
    });
  }
  while (sent < 100) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);
  from.reset();
  for (std::thread& thread : threads) thread.join();
  beeline_sender_free(sender);
  std::uint64_t received = 0;
  for (beeline_message* message = nullptr;
       beeline_receive(to.get(), 0, nullptr, &message) == BEELINE_OK; ++received) {
    beeline_message_done(message, nullptr, 0);
    beeline_message_free(message);
  }
  EXPECT_EQ(received, sent);
}

TEST_F(CSender, AnErrorBelongsToItsThread) {
  const CAgent agent = attach_c("a");
  beeline_sender* sender = nullptr;
  ASSERT_OK(beeline_sender_new(agent.get(), &sender));
  beeline_send_options about;
  beeline_send_options_init(&about);
  beeline_message* const message = message_of(agent);
  about.about = message;
  const beeline_peer self = find(agent, "a");
  const std::string before = beeline_error_text();
  std::thread([&] {
    EXPECT_STREQ(beeline_error_text(), "");
    EXPECT_EQ(beeline_sender_send(sender, self, "a", 1, 0, &about, nullptr), BEELINE_NO_ROUTE);
    EXPECT_SAYS("was not sent: no_route");
  }).join();
  EXPECT_EQ(beeline_error_text(), before);
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
  beeline_sender_free(sender);
}

}  // namespace
}  // namespace beeline::test
