// Every call is given null, and other nonsense: it says so, and changes nothing.

#include <string>

#include "tests/c/c_hive.h"

namespace beeline::test {
namespace {

class CBadInput : public CHive {};

#define EXPECT_NULL(call, word)     \
  EXPECT_EQ(call, BEELINE_INVALID); \
  EXPECT_SAYS("`" word "` is null")

constexpr beeline_peer kPeer{0, 2};

TEST_F(CBadInput, CallsWithoutAnAgentSaySo) {
  std::uint64_t number = 0;
  beeline_agents* agents = nullptr;
  beeline_message* message = nullptr;
  const beeline_handler handler = [](beeline_message*, void*) -> int32_t { return 0; };
  EXPECT_NULL(beeline_detach(nullptr, 0, nullptr), "agent");
  EXPECT_NULL(beeline_find_peer(nullptr, "a", 1, nullptr), "agent");
  EXPECT_NULL(beeline_wait_for(nullptr, "a", 1, 0, 0, -1, nullptr), "agent");
  EXPECT_NULL(beeline_send(nullptr, kPeer, "a", 1, 0, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_receive(nullptr, 0, nullptr, &message), "agent");
  EXPECT_NULL(beeline_receive_batch(nullptr, 0, nullptr, &message, 1, &number), "agent");
  EXPECT_NULL(beeline_request(nullptr, kPeer, "a", 1, 0, nullptr, &message), "agent");
  EXPECT_NULL(beeline_request_all(nullptr, nullptr, 0, 0, nullptr), "agent");
  EXPECT_NULL(beeline_fire_and_forget(nullptr, kPeer, "a", 1, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_next_result(nullptr, &message), "agent");
  EXPECT_NULL(beeline_cancel(nullptr, kPeer, 1), "agent");
  EXPECT_NULL(beeline_send_control(nullptr, kPeer, "a", 1, "a", 1, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_escalate(nullptr, "a", 1, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_await_ack(nullptr, kPeer, 1, 0, nullptr), "agent");
  EXPECT_NULL(beeline_send_acked(nullptr, kPeer, "a", 1, 0, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_serve(nullptr, handler, nullptr, 0, 1, nullptr), "agent");
  EXPECT_NULL(beeline_sender_new(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_borrow(nullptr, kPeer, 1, 0, nullptr), "agent");
  EXPECT_NULL(beeline_siblings(nullptr, &agents), "agent");
  EXPECT_NULL(beeline_children(nullptr, true, &agents), "agent");
  EXPECT_NULL(beeline_info(nullptr, 0, &agents), "agent");
  EXPECT_NULL(beeline_find(nullptr, "a", 1, &agents), "agent");
  EXPECT_NULL(beeline_broadcast(nullptr, 0, nullptr, "a", 1, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_list_inbox(nullptr, 1, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_requeue_dead(nullptr, 1), "agent");
  EXPECT_NULL(beeline_count(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_list_links(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_next_notice(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_poll(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_request_start(nullptr, kPeer, "a", 1, 0, nullptr, &number), "agent");
  EXPECT_NULL(beeline_next_answer(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_look_for_answers(nullptr), "agent");
  EXPECT_NULL(beeline_send_acked_start(nullptr, kPeer, "a", 1, 0, nullptr, &number), "agent");
  EXPECT_NULL(beeline_next_ack(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_find_peer_start(nullptr, "a", 1, 0, &number), "agent");
  EXPECT_NULL(beeline_next_peer(nullptr, &number, nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_list_start(nullptr, &number), "agent");
  EXPECT_NULL(beeline_next_list(nullptr, &number, nullptr, &agents), "agent");
  EXPECT_NULL(beeline_want_space(nullptr, kPeer, true), "agent");
  EXPECT_NULL(beeline_next_space(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_left_behind(nullptr, &number), "agent");
  EXPECT_NULL(beeline_execute(nullptr, kPeer, nullptr, 0, nullptr), "agent");
  EXPECT_NULL(beeline_execute_start(nullptr, kPeer, nullptr, 0, &number), "agent");
  EXPECT_NULL(beeline_next_task_event(nullptr, 0, nullptr), "agent");
  EXPECT_NULL(beeline_next_task(nullptr, 0, nullptr), "agent");
  EXPECT_NULL(beeline_attach(nullptr, nullptr), "agent");
  EXPECT_NULL(beeline_attach_start(nullptr, nullptr), "attaching");
  EXPECT_NULL(beeline_attach_finish(nullptr, nullptr), "attaching");
  EXPECT_NULL(beeline_look_into_inbox(nullptr, nullptr, 0, 0, nullptr), "name");
}

TEST_F(CBadInput, CallsThatCannotFailDoNothingWithoutAnAgent) {
  char room[BEELINE_ID_TEXT_SIZE];
  EXPECT_EQ(beeline_agent_pid(nullptr) + beeline_agent_parent(nullptr), 0U);
  EXPECT_EQ(beeline_agent_incarnation(nullptr) + beeline_tasks_waiting(nullptr), 0U);
  EXPECT_STREQ(beeline_agent_name(nullptr), "");
  EXPECT_EQ(beeline_fd(nullptr), -1);
  EXPECT_FALSE(beeline_urgent(nullptr) || beeline_forget(nullptr, 1) ||
               beeline_forget_call(nullptr, 1) || beeline_cancel_task(nullptr, 1) ||
               beeline_purge_dead(nullptr, 1) || beeline_purge_all_dead(nullptr) != 0);
  beeline_close(nullptr);
  beeline_set_sleeping(nullptr, true);
  beeline_stop_serving(nullptr);
  beeline_accept_tasks(nullptr, true);
  beeline_detach_start(nullptr, 0);
  EXPECT_EQ(beeline_id_text(1, nullptr), 0U);
  EXPECT_EQ(beeline_id_text(0, room), 0U);
  EXPECT_EQ(beeline_parse_id(nullptr, 7), 0U);
  EXPECT_EQ(beeline_parse_id("3:", BEELINE_TEXT), 0U);
  EXPECT_STREQ(beeline_place_name(9), "unknown");
}

TEST_F(CBadInput, OtherHandlesThatAreNullAreNamed) {
  std::size_t length = 7;
  EXPECT_NULL(beeline_message_describe(nullptr, nullptr), "message");
  EXPECT_NULL(beeline_message_escalate(nullptr), "message");
  EXPECT_NULL(beeline_reply(nullptr, "a", 1, 0, nullptr, nullptr), "message");
  EXPECT_NULL(beeline_loan_shrink(nullptr, 1), "loan");
  EXPECT_NULL(beeline_loan_send(nullptr, 0, nullptr, nullptr), "loan");
  EXPECT_NULL(beeline_task_report(nullptr, 0, "a", 1), "task");
  EXPECT_NULL(beeline_task_finish(nullptr, nullptr), "task");
  EXPECT_NULL(beeline_task_fail(nullptr, "a", 1), "task");
  EXPECT_NULL(beeline_event_code(nullptr), "event");
  EXPECT_NULL(beeline_sender_send(nullptr, kPeer, "a", 1, 0, nullptr, nullptr), "sender");
  EXPECT_EQ(beeline_attaching_fd(nullptr), -1);
  EXPECT_EQ(beeline_message_payload(nullptr, &length), nullptr);
  EXPECT_EQ(length, 0U);
  EXPECT_STREQ(beeline_message_from_name(nullptr, nullptr), "");
  EXPECT_EQ(beeline_message_id(nullptr) + beeline_message_via(nullptr), 0U);
  EXPECT_EQ(beeline_message_relation(nullptr), BEELINE_FROM_OTHER);
  EXPECT_FALSE(beeline_message_is_held(nullptr));
  EXPECT_TRUE(beeline_message_is_cancelled(nullptr) && beeline_task_is_cancelled(nullptr));
  EXPECT_EQ(beeline_loan_bytes(nullptr, &length), nullptr);
  EXPECT_EQ(beeline_task_work(nullptr), nullptr);
  EXPECT_EQ(beeline_task_id(nullptr) + beeline_task_from(nullptr), 0U);
  EXPECT_EQ(beeline_event_task(nullptr), 0U);
  EXPECT_EQ(beeline_event_kind(nullptr), BEELINE_EVENT_END);
  EXPECT_STREQ(beeline_event_text(nullptr, &length), "");
  EXPECT_EQ(beeline_event_outcome(nullptr), nullptr);
  beeline_message_done(nullptr, nullptr, 0);
  beeline_message_requeue(nullptr);
  beeline_message_put_back(nullptr);
  beeline_message_reject(nullptr, nullptr, 0);
  beeline_message_defer(nullptr);
  beeline_message_free(nullptr);
  beeline_loan_free(nullptr);
  beeline_task_free(nullptr);
  beeline_event_free(nullptr);
  beeline_sender_free(nullptr);
  beeline_attaching_free(nullptr);
  beeline_agents_free(nullptr);
  beeline_deliveries_free(nullptr);
  beeline_inbox_free(nullptr);
  beeline_links_free(nullptr);
}

TEST_F(CBadInput, OtherArgumentsThatAreNullAreNamed) {
  const CAgent agent = attach_c("a");
  beeline_agent* const a = agent.get();
  std::uint64_t id = 0;
  beeline_code code = 0;
  beeline_message* message = nullptr;
  beeline_ack ack{};
  EXPECT_NULL(beeline_find_peer(a, nullptr, 1, nullptr), "name");
  EXPECT_NULL(beeline_find_peer(a, "a", 1, nullptr), "peer");
  EXPECT_NULL(beeline_wait_for(a, "a", 1, 0, 0, -1, nullptr), "peer");
  EXPECT_NULL(beeline_send(a, kPeer, nullptr, 1, 0, nullptr, nullptr), "payload");
  EXPECT_NULL(beeline_receive(a, 0, nullptr, nullptr), "message");
  EXPECT_NULL(beeline_receive_batch(a, 0, nullptr, nullptr, 1, &id), "messages");
  EXPECT_NULL(beeline_receive_batch(a, 0, nullptr, &message, 1, nullptr), "count");
  EXPECT_NULL(beeline_request(a, kPeer, nullptr, 1, 0, nullptr, &message), "payload");
  EXPECT_NULL(beeline_request(a, kPeer, nullptr, 0, 0, nullptr, nullptr), "answer");
  EXPECT_NULL(beeline_request_all(a, nullptr, 1, 0, nullptr), "questions");
  const beeline_question question{kPeer, nullptr, 1, nullptr};
  beeline_answer answer{};
  EXPECT_NULL(beeline_request_all(a, &question, 1, 0, nullptr), "answers");
  EXPECT_NULL(beeline_request_all(a, &question, 1, 0, &answer), "payload");
  EXPECT_NULL(beeline_fire_and_forget(a, kPeer, nullptr, 1, nullptr, nullptr), "payload");
  EXPECT_NULL(beeline_next_result(a, nullptr), "message");
  EXPECT_NULL(beeline_send_control(a, kPeer, nullptr, 1, nullptr, 0, nullptr, nullptr), "type");
  EXPECT_NULL(beeline_escalate(a, nullptr, 1, nullptr, nullptr), "payload");
  EXPECT_NULL(beeline_await_ack(a, kPeer, 1, 0, nullptr), "ack");
  EXPECT_NULL(beeline_send_acked(a, kPeer, nullptr, 1, 0, nullptr, &ack), "payload");
  EXPECT_NULL(beeline_serve(a, nullptr, nullptr, 0, 1, nullptr), "handler");
  EXPECT_NULL(beeline_sender_new(a, nullptr), "sender");
  EXPECT_NULL(beeline_borrow(a, kPeer, 1, 0, nullptr), "loan");
  EXPECT_NULL(beeline_siblings(a, nullptr), "agents");
  EXPECT_NULL(beeline_find(a, nullptr, 1, nullptr), "name");
  EXPECT_NULL(beeline_broadcast(a, BEELINE_GROUP_ROLE, nullptr, "a", 1, nullptr, nullptr), "role");
  EXPECT_NULL(beeline_broadcast(a, 0, nullptr, "a", 1, nullptr, nullptr), "deliveries");
  EXPECT_NULL(beeline_list_inbox(a, 1, nullptr, nullptr), "inbox");
  EXPECT_NULL(beeline_count(a, nullptr), "counters");
  EXPECT_NULL(beeline_list_links(a, nullptr), "links");
  EXPECT_NULL(beeline_next_notice(a, nullptr), "notice");
  EXPECT_NULL(beeline_poll(a, nullptr), "found");
  EXPECT_NULL(beeline_request_start(a, kPeer, "a", 1, 0, nullptr, nullptr), "id");
  EXPECT_NULL(beeline_next_answer(a, nullptr), "answer");
  EXPECT_NULL(beeline_send_acked_start(a, kPeer, "a", 1, 0, nullptr, nullptr), "id");
  EXPECT_NULL(beeline_next_ack(a, nullptr), "ack");
  EXPECT_NULL(beeline_find_peer_start(a, "a", 1, 0, nullptr), "call");
  EXPECT_NULL(beeline_next_peer(a, &id, &code, nullptr), "peer");
  EXPECT_NULL(beeline_list_start(a, nullptr), "call");
  EXPECT_NULL(beeline_next_list(a, &id, &code, nullptr), "agents");
  EXPECT_NULL(beeline_next_space(a, nullptr), "peer");
  EXPECT_NULL(beeline_left_behind(a, nullptr), "left");
  EXPECT_NULL(beeline_execute(a, kPeer, nullptr, 0, nullptr), "work");
  EXPECT_NULL(beeline_next_task_event(a, 0, nullptr), "event");
  EXPECT_NULL(beeline_next_task(a, 0, nullptr), "task");
}

TEST_F(CBadInput, NumbersThatMeanNothingAreRefused) {
  const CAgent agent = attach_c("a");
  beeline_agent* other = nullptr;
  beeline_attach_options options;
  beeline_attach_options_init(&options);
  options.order = 3;
  EXPECT_EQ(beeline_attach(&options, &other), BEELINE_INVALID);
  EXPECT_SAYS("`options->order` is 3, it must be from 0 to 2");
  beeline_attach_options_init(&options);
  options.wait = -1;
  EXPECT_EQ(beeline_attach(&options, &other), BEELINE_INVALID);
  beeline_attach_options_init(&options);
  options.max_hops = 65536;
  EXPECT_EQ(beeline_attach(&options, &other), BEELINE_INVALID);
  beeline_attach_options_init(&options);
  options.role = "king";
  EXPECT_EQ(beeline_attach(&options, &other), BEELINE_INVALID);
  EXPECT_EQ(other, nullptr);
  beeline_deliveries* deliveries = nullptr;
  EXPECT_EQ(beeline_broadcast(agent.get(), 4, nullptr, "a", 1, nullptr, &deliveries),
            BEELINE_INVALID);
  std::size_t count = 0;
  beeline_message* message = nullptr;
  EXPECT_EQ(beeline_receive_batch(agent.get(), 0, nullptr, &message, 0, &count), BEELINE_INVALID);
  EXPECT_EQ(beeline_want_space(agent.get(), {UINT32_MAX, 0}, true), BEELINE_INVALID);
  beeline_work work;
  beeline_work_init(&work);
  work.param_count = 1;
  beeline_event* event = nullptr;
  EXPECT_EQ(beeline_execute(agent.get(), kPeer, &work, 0, &event), BEELINE_INVALID);
  EXPECT_SAYS("`work->params` has a null pointer and the length 1");
}

TEST_F(CBadInput, AFailedSendTellsItsLimit) {
  const CAgent agent = attach_c("a");
  const beeline_peer self = find(agent, "a");
  EXPECT_EQ(find(agent, std::to_string(beeline_agent_pid(agent.get()))).pid, self.pid);
  beeline_send_options options;
  beeline_send_options_init(&options);
  options.type = "a type of more than thirty-one bytes";
  EXPECT_EQ(beeline_send(agent.get(), self, "a", 1, 0, &options, nullptr), BEELINE_TOO_BIG);
  EXPECT_EQ(beeline_error_limit(), 31U);
  EXPECT_SAYS("31");
  EXPECT_EQ(beeline_send(agent.get(), beeline_peer_of(99), "a", 1, 0, nullptr, nullptr),
            BEELINE_NO_AGENT);
  EXPECT_SAYS("99");
  beeline_message* message = nullptr;
  EXPECT_EQ(beeline_receive(agent.get(), 0, nullptr, &message), BEELINE_NOTHING);
  EXPECT_SAYS("99");  // that was no failure
}

}  // namespace
}  // namespace beeline::test
