#include "tests/hostile/stage.h"

#include <sstream>

#include "tests/support/payload.h"

namespace beeline::test {

namespace {

constexpr std::string_view kAsk = "still there?";

// Sends half of its messages before the attack, half after it has begun, and then a question.
BEELINE_ROLE(honest) {
  auto& board = context.board<HostileBoard>();
  auto agent = attach("honest");
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "victim");
  board.honest_pid.store(agent->pid());
  board.honest.raise();
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < kHonestMessages; ++i) {
    if (i == kHonestMessages / 2) {
      ASSERT_TRUE(board.attacked.await(board.attackers, patience()));
    }
    payload.resize(mixed_length(mix(i)));
    write_payload(payload, {agent->pid(), to.pid, i});
    const SendResult sent = agent->send_until(to, payload, patience());
    ASSERT_TRUE(sent) << "message " << i << ": " << to_string(sent.status);
  }
  const auto answer = agent->request(to, kAsk, patience());
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->text(), "yes");
  board.served.raise();
}

}  // namespace

void HostileTest::receive_all_honest(Agent& victim) {
  std::uint64_t next = 0;
  for (bool answered = false; !answered;) {
    Message message = next_message(victim);
    ASSERT_TRUE(message.valid()) << "honest messages so far: " << next;
    if (message.from() != scene().honest_pid.load()) {
      message.done();
      continue;
    }
    if (message.text() == kAsk) {
      EXPECT_EQ(next, kHonestMessages);
      answered = victim.reply(message, "yes").status == SendStatus::kOk;
      EXPECT_TRUE(answered);
    } else {
      const auto head = read_payload(message.payload());
      ASSERT_TRUE(head) << "message " << next << " of the honest agent is damaged";
      EXPECT_EQ(head->sender, message.from());
      ASSERT_EQ(head->sequence, next);
      ++next;
      scene().arrived.raise();
    }
    message.done();
  }
  EXPECT_TRUE(scene().served.await(1, patience()));
}

void HostileTest::await_log(std::initializer_list<std::string> parts) {
  const Deadline deadline = patience();
  for (;;) {
    std::istringstream log(hive().log());
    for (std::string line; std::getline(log, line);) {
      const auto has = [&](const std::string& part) {
        return line.find(part) != std::string::npos;
      };
      if (std::all_of(parts.begin(), parts.end(), has)) return;
    }
    if (std::chrono::steady_clock::now() < deadline) continue;
    ADD_FAILURE() << "the log of the coordinator has no line with \"" << *parts.begin()
                  << "\" and the rest of what it must name:\n"
                  << hive().log();
    return;
  }
}

}  // namespace beeline::test
