// Handles that have ended, and handles that outlive their agent.

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

class CEnded : public CHive {};

void expect_ended(beeline_message* message) {
  beeline_message_info info;
  info.size = sizeof info;
  std::size_t length = 7;
  EXPECT_FALSE(beeline_message_is_held(message));
  EXPECT_EQ(beeline_message_payload(message, &length), nullptr);
  EXPECT_EQ(length, 0U);
  EXPECT_EQ(beeline_message_describe(message, &info), BEELINE_CLOSED);
  EXPECT_EQ(beeline_message_escalate(message), BEELINE_CLOSED);
  EXPECT_EQ(beeline_reply(message, "a", 1, 0, nullptr, nullptr), BEELINE_CLOSED);
  EXPECT_SAYS("beeline_reply: the lease of this message has ended");
  EXPECT_EQ(beeline_message_id(message), 0U);
  EXPECT_EQ(beeline_message_via(message), 0U);
  EXPECT_EQ(beeline_message_relation(message), BEELINE_FROM_OTHER);
  EXPECT_STREQ(beeline_message_from_name(message, &length), "");
  EXPECT_TRUE(beeline_message_is_cancelled(message));
  beeline_message_done(message, "a", 1);
  beeline_message_requeue(message);
  beeline_message_put_back(message);
  beeline_message_reject(message, "a", 1);
  beeline_message_defer(message);
}

TEST_F(CEnded, AMessageEndsOnce) {
  const CAgent agent = attach_c("a");
  beeline_message* message = message_of(agent);
  beeline_message_done(message, nullptr, 0);
  expect_ended(message);
  beeline_send_options about;
  beeline_send_options_init(&about);
  about.about = message;
  EXPECT_EQ(beeline_send(agent.get(), find(agent, "a"), "a", 1, 0, &about, nullptr),
            BEELINE_NO_ROUTE);
  beeline_message_free(message);
}

TEST_F(CEnded, AMessageThatIsFreedComesAgain) {
  const CAgent agent = attach_c("a");
  beeline_message* message = message_of(agent);
  const beeline_id id = beeline_message_id(message);
  beeline_message_free(message);
  ASSERT_OK(beeline_receive(agent.get(), kLong, nullptr, &message));
  EXPECT_EQ(beeline_message_id(message), id);
  beeline_message_done(message, nullptr, BEELINE_TEXT);
  beeline_message_free(message);
}

TEST_F(CEnded, HandlesOutliveTheirAgent) {
  CAgent boss = attach_c("boss");
  CAgent worker = attach_c("worker", "boss");
  beeline_accept_tasks(worker.get(), true);
  beeline_work work;
  beeline_work_init(&work);
  work.description = {"short", 5};
  beeline_id id = 0;
  ASSERT_OK(beeline_execute_start(boss.get(), find(boss, "worker"), &work, kLong, &id));
  beeline_task* task = nullptr;
  ASSERT_OK(beeline_next_task(worker.get(), kLong, &task));
  beeline_message* message = message_of(worker);
  beeline_loan* loan = nullptr;
  ASSERT_OK(beeline_borrow(worker.get(), find(worker, "boss"), 100, 0, &loan));
  beeline_sender* sender = nullptr;
  ASSERT_OK(beeline_sender_new(worker.get(), &sender));
  const beeline_peer to = find(worker, "boss");
  worker.reset();

  expect_ended(message);
  beeline_message_free(message);
  EXPECT_EQ(beeline_loan_bytes(loan, nullptr), nullptr);
  EXPECT_EQ(beeline_loan_shrink(loan, 1), BEELINE_CLOSED);
  EXPECT_EQ(beeline_loan_send(loan, 0, nullptr, nullptr), BEELINE_CLOSED);
  beeline_loan_free(loan);
  const beeline_bytes said = beeline_task_work(task)->description;
  EXPECT_EQ(std::string(static_cast<const char*>(said.data), said.length), "short");
  EXPECT_EQ(beeline_task_id(task) + beeline_task_from(task), 0U);
  EXPECT_TRUE(beeline_task_is_cancelled(task));
  EXPECT_EQ(beeline_task_report(task, BEELINE_EVENT_LOG, "a", 1), BEELINE_CLOSED);
  EXPECT_EQ(beeline_task_finish(task, nullptr), BEELINE_CLOSED);
  EXPECT_EQ(beeline_task_fail(task, "a", 1), BEELINE_CLOSED);
  beeline_task_free(task);
  EXPECT_EQ(beeline_sender_send(sender, to, "a", 1, 0, nullptr, nullptr), BEELINE_CLOSED);
  beeline_sender_free(sender);

  beeline_event* event = nullptr;
  ASSERT_OK(beeline_next_task_event(boss.get(), kLong, &event));
  EXPECT_EQ(beeline_event_code(event), BEELINE_FAILED) << beeline_event_text(event, nullptr);
  boss.reset();
  EXPECT_EQ(beeline_event_task(event), id);
  beeline_event_free(event);
}

TEST_F(CEnded, AnAgentThatHasLeftFindsNothingMore) {
  const CAgent agent = attach_c("a");
  const beeline_peer self = find(agent, "a");
  std::uint64_t left = 7;
  ASSERT_OK(beeline_detach(agent.get(), kLong, &left));
  EXPECT_EQ(left, 0U);
  beeline_message* message = nullptr;
  beeline_task* task = nullptr;
  beeline_event* event = nullptr;
  EXPECT_EQ(beeline_send(agent.get(), self, "a", 1, 0, nullptr, nullptr), BEELINE_NO_ROUTE);
  EXPECT_EQ(beeline_receive(agent.get(), kLong, nullptr, &message), BEELINE_CLOSED);
  EXPECT_EQ(beeline_next_task(agent.get(), kLong, &task), BEELINE_CLOSED);
  EXPECT_EQ(beeline_next_task_event(agent.get(), kLong, &event), BEELINE_CLOSED);
  EXPECT_SAYS("beeline_next_task_event: ");
}

// The process that has the handles twice, after a fork.
TEST_F(CEnded, AChildFreesItsCopies) {
  CAgent agent = attach_c("a");
  const beeline_peer self = find(agent, "a");
  beeline_message* message = message_of(agent);
  beeline_loan* loan = nullptr;
  ASSERT_OK(beeline_borrow(agent.get(), self, 100, 0, &loan));
  beeline_sender* sender = nullptr;
  ASSERT_OK(beeline_sender_new(agent.get(), &sender));
  const pid_t child = ::fork();
  if (child == 0) {
    if (beeline_send(agent.get(), self, "a", 1, 0, nullptr, nullptr) != BEELINE_NO_ROUTE)
      ::_exit(1);
    beeline_close(agent.release());
    beeline_message_free(message);
    beeline_loan_free(loan);
    beeline_sender_free(sender);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_OK(beeline_loan_send(loan, 0, nullptr, nullptr));
  EXPECT_OK(beeline_sender_send(sender, self, "a", 1, 0, nullptr, nullptr));
  beeline_message_done(message, nullptr, 0);
  beeline_message_free(message);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(beeline_receive(agent.get(), kLong, nullptr, &message));
    beeline_message_done(message, nullptr, 0);
    beeline_message_free(message);
  }
  beeline_loan_free(loan);
  beeline_sender_free(sender);
}

TEST_F(CEnded, AnAttachIsFetchedOnceOrLeavesTheHive) {
  beeline_attaching* attaching = nullptr;
  beeline_agent* agent = nullptr;
  beeline_agent* second = nullptr;
  ASSERT_OK(beeline_attach_start(nullptr, &attaching));
  ASSERT_OK(beeline_attach_finish(attaching, &agent));
  EXPECT_EQ(beeline_attach_finish(attaching, &second), BEELINE_INVALID);
  EXPECT_EQ(second, nullptr);
  beeline_attaching_free(attaching);
  beeline_close(agent);
  const std::size_t fds = count_open_fds();
  const std::uint64_t used = pids_used();
  ASSERT_OK(beeline_attach_start(nullptr, &attaching));
  beeline_attaching_free(attaching);
  // It attaches later, and leaves then.
  while (pids_used() == used) std::this_thread::sleep_for(1ms);
  while (count_open_fds() > fds) std::this_thread::sleep_for(1ms);
}

// More messages at once than wait for reuse; the handles are freed in another order.
TEST_F(CEnded, ManyHandlesComeAndGo) {
  const CAgent agent = attach_c("a");
  const beeline_peer self = find(agent, "a");
  constexpr std::size_t kMany = 1500;
  std::vector<beeline_message*> messages(kMany);
  for (int round = 0; round < 2; ++round) {
    std::size_t count = 0;
    while (count < kMany) {
      std::size_t sent = 0;
      while (sent < 100 && beeline_send(agent.get(), self, "a", 1, 0, nullptr, nullptr) == 0)
        ++sent;
      while (sent > 0) {
        std::size_t taken = 0;
        ASSERT_OK(beeline_receive_batch(agent.get(), kLong, nullptr, &messages[count],
                                        kMany - count, &taken));
        count += taken;
        sent -= taken;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      beeline_message* const message = messages[(i * 7) % count];
      beeline_message_done(message, nullptr, 0);
      beeline_message_free(message);
    }
  }
}

}  // namespace
}  // namespace beeline::test
