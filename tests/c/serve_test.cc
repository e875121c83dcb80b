// The handler of beeline_serve() does as it likes.

#include <string>
#include <vector>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

class CServe : public CHive {};

struct Handled {
  beeline_agent* agent;
  int32_t result = BEELINE_ACK_ACCEPTED;
  bool close = false;
  std::vector<beeline_message*> kept{};
};

int32_t handle(beeline_message* message, void* user) {
  auto& handled = *static_cast<Handled*>(user);
  if (handled.close) beeline_close(handled.agent);
  if (handled.result == BEELINE_ACK_QUEUED) handled.kept.push_back(message);
  return handled.result;
}

void send_to_itself(const CAgent& agent) {
  const beeline_peer self = beeline_peer_of(beeline_agent_pid(agent.get()));
  EXPECT_OK(beeline_send(agent.get(), self, "text", 4, kLong, nullptr, nullptr));
}

std::size_t dead_letters(const CAgent& agent) {
  beeline_counters counters;
  counters.size = sizeof counters;
  EXPECT_OK(beeline_count(agent.get(), &counters));
  return counters.dead;
}

TEST_F(CServe, TheResultSaysWhatBecomesOfTheMessage) {
  const CAgent agent = attach_c("a");
  Handled handled{agent.get()};
  std::size_t count = 0;
  send_to_itself(agent);
  EXPECT_OK(beeline_serve(agent.get(), handle, &handled, kLong, 1, &count));
  EXPECT_EQ(count, 1U);
  handled.result = BEELINE_ACK_REJECTED;
  send_to_itself(agent);
  EXPECT_OK(beeline_serve(agent.get(), handle, &handled, kLong, 1, nullptr));
  EXPECT_EQ(dead_letters(agent), 1U);
  handled.result = BEELINE_ACK_QUEUED;
  send_to_itself(agent);
  EXPECT_OK(beeline_serve(agent.get(), handle, &handled, kLong, 1, nullptr));
  ASSERT_EQ(handled.kept.size(), 1U);
  EXPECT_TRUE(beeline_message_is_held(handled.kept[0]));
  EXPECT_OK(beeline_reply(handled.kept[0], "later", 5, kLong, nullptr, nullptr));
  EXPECT_FALSE(beeline_message_is_held(handled.kept[0]));
  beeline_message_free(handled.kept[0]);
  EXPECT_OK(beeline_serve(agent.get(), handle, &handled, 0, SIZE_MAX, &count));
}

TEST_F(CServe, AResultThatMeansNothingEndsIt) {
  const CAgent agent = attach_c("a");
  Handled handled{agent.get(), 7};
  send_to_itself(agent);
  EXPECT_EQ(beeline_serve(agent.get(), handle, &handled, kLong, 9, nullptr), BEELINE_INVALID);
  EXPECT_SAYS("the handler returned 7");
  beeline_message* message = nullptr;
  ASSERT_OK(beeline_receive(agent.get(), kLong, nullptr, &message));  // it was requeued
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
}

TEST_F(CServe, AHandlerClosesTheAgent) {
  CAgent agent = attach_c("a");
  Handled handled{agent.get(), BEELINE_ACK_QUEUED, true};
  send_to_itself(agent);
  EXPECT_EQ(beeline_serve(agent.release(), handle, &handled, kLong, 9, nullptr), BEELINE_CLOSED);
  EXPECT_FALSE(beeline_message_is_held(handled.kept.at(0)));
  beeline_message_free(handled.kept[0]);
}

}  // namespace
}  // namespace beeline::test
