/* Two processes use every function of the C interface: a boss, and a worker that it starts. Prints
 * the first check that fails. */

#include "tests/c/every_call.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static int says(const beeline_message* message, const char* text) {
  size_t length;
  const void* bytes = beeline_message_payload(message, &length);
  return same(bytes, length, text);
}

static beeline_send_options typed(const char* type) {
  beeline_send_options options;
  beeline_send_options_init(&options);
  options.type = type;
  return options;
}

static beeline_agent* attached(const char* name, const char* parent) {
  beeline_agent* agent;
  beeline_attach_options options;
  beeline_attach_options_init(&options);
  options.name = name;
  options.parent = parent;
  OK(beeline_attach(&options, &agent));
  return agent;
}

static beeline_message* next(beeline_agent* agent, const char* text) {
  beeline_message* message;
  OK(beeline_receive(agent, PATIENCE, NULL, &message));
  CHECK(says(message, text));
  return message;
}

/* ---- The worker ---- */

typedef struct worker {
  beeline_agent* agent;
  beeline_message* kept;
} worker;

static int32_t handle(beeline_message* message, void* user) {
  worker* self = user;
  beeline_message_info info;
  info.size = sizeof info;
  OK(beeline_message_describe(message, &info));
  if (strcmp(info.type, "question") == 0) {
    OK(beeline_reply(message, "yes", 3, PATIENCE, NULL, NULL));
  } else if (strcmp(info.type, "later") == 0) {
    self->kept = message;
    return BEELINE_ACK_QUEUED;
  } else if (strcmp(info.type, "now") == 0) {
    OK(beeline_reply(self->kept, "at last", 7, PATIENCE, NULL, NULL));
    CHECK(!beeline_message_is_held(self->kept));
    beeline_message_free(self->kept);
  } else if (strcmp(info.type, "bad") == 0) {
    beeline_message_reject(message, "no", BEELINE_TEXT);
  } else if (strcmp(info.type, "up") == 0) {
    OK(beeline_message_escalate(message));
    CHECK(beeline_message_id(message) == 0);
  } else if (strcmp(info.type, "end") == 0) {
    beeline_stop_serving(self->agent);
  }
  return BEELINE_ACK_ACCEPTED;
}

static void do_tasks(beeline_agent* agent) {
  beeline_task* task;
  beeline_pair made = {{"file", 4}, {"a.txt", 5}};
  beeline_outcome outcome;
  const beeline_work* work;
  OK(beeline_next_task(agent, PATIENCE, &task));
  work = beeline_task_work(task);
  CHECK(same(work->description.data, work->description.length, "count"));
  CHECK(work->param_count == 1 && same(work->params[0].value.data, 1, "7"));
  CHECK(beeline_task_id(task) != 0 && beeline_task_from(task) != 0);
  CHECK(!beeline_task_is_cancelled(task));
  OK(beeline_task_report(task, BEELINE_EVENT_UPDATE, "half", BEELINE_TEXT));
  OK(beeline_task_report(task, BEELINE_EVENT_LOG, "a line", BEELINE_TEXT));
  beeline_outcome_init(&outcome);
  outcome.exit_code = 3;
  outcome.output.data = "ready";
  outcome.output.length = 5;
  outcome.artifacts = &made;
  outcome.artifact_count = 1;
  OK(beeline_task_finish(task, &outcome));
  CHECK(beeline_task_finish(task, NULL) == BEELINE_CLOSED && beeline_task_id(task) == 0);
  beeline_task_free(task);
  OK(beeline_next_task(agent, PATIENCE, &task));
  OK(beeline_task_fail(task, "no such file", BEELINE_TEXT));
  beeline_task_free(task);
  OK(beeline_next_task(agent, PATIENCE, &task));
  while (!beeline_task_is_cancelled(task)) usleep(1000);
  beeline_task_free(task);
  CHECK(beeline_tasks_waiting(agent) == 0);
  CHECK(beeline_next_task(agent, 0, &task) == BEELINE_NOTHING && task == NULL);
}

static int work(int begin) {
  worker self = {NULL, NULL};
  char byte;
  size_t handled;
  beeline_peer boss;
  CHECK(read(begin, &byte, 1) == 1);
  self.agent = attached("worker", "boss");
  CHECK(beeline_agent_parent(self.agent) != 1);
  beeline_accept_tasks(self.agent, true);
  OK(beeline_serve(self.agent, handle, &self, BEELINE_FOREVER, SIZE_MAX, &handled));
  CHECK(handled >= 6);
  do_tasks(self.agent);
  OK(beeline_find_peer(self.agent, "boss", BEELINE_TEXT, &boss));
  OK(beeline_send_acked(self.agent, boss, "bye", 3, PATIENCE, NULL, &(beeline_ack){0}));
  OK(beeline_detach(self.agent, PATIENCE, NULL));
  beeline_close(self.agent);
  return 0;
}

/* ---- The boss ---- */

static void use_words(void) {
  char text[BEELINE_ID_TEXT_SIZE];
  CHECK(beeline_id_text(((beeline_id)3 << 40) + 21, text) == 4 && strcmp(text, "3:21") == 0);
  CHECK(beeline_parse_id("3:21", 4) == ((beeline_id)3 << 40) + 21);
  CHECK(strcmp(beeline_code_name(BEELINE_NO_AGENT), "no_agent") == 0);
  CHECK(strcmp(beeline_place_name(BEELINE_PLACE_DEAD), "dead") == 0);
  CHECK(beeline_version()[0] != 0 && beeline_error_text()[0] == 0);
  CHECK(beeline_error_errno() == 0 && beeline_error_limit() == 0);
}

static beeline_agent* attached_in_steps(void) {
  beeline_attaching* attaching;
  beeline_agent* agent;
  beeline_attach_options options;
  struct pollfd readable;
  beeline_attach_options_init(&options);
  options.name = "boss";
  options.role = "lead"; /* it ends children */
  OK(beeline_attach_start(&options, &attaching));
  readable.fd = beeline_attaching_fd(attaching);
  readable.events = POLLIN;
  CHECK(poll(&readable, 1, 60000) == 1);
  OK(beeline_attach_finish(attaching, &agent));
  beeline_attaching_free(attaching);
  CHECK(strcmp(beeline_agent_name(agent), "boss") == 0 && beeline_agent_pid(agent) > 1);
  CHECK(beeline_agent_parent(agent) == 1 && beeline_agent_incarnation(agent) != 0);
  return agent;
}

static void use_messages(beeline_agent* boss, beeline_peer self) {
  beeline_message* messages[4];
  beeline_message_info info;
  beeline_filter filter;
  beeline_inbox* inbox;
  size_t count;
  beeline_id id;
  beeline_send_options critical = typed("alarm");
  critical.rank = BEELINE_CRITICAL;
  OK(beeline_send(boss, self, "one", 3, 0, &critical, &id));
  CHECK(beeline_urgent(boss));
  OK(beeline_send(boss, beeline_peer_of(beeline_agent_pid(boss)), "two", 3, SECOND, NULL, NULL));
  OK(beeline_look_into_inbox(NULL, "boss", BEELINE_TEXT, 10 * SECOND, &inbox));
  CHECK(inbox->length == 2 && inbox->items[0].id == id);
  CHECK(same(inbox->items[0].preview, inbox->items[0].preview_length, "one"));
  CHECK(strcmp(inbox->name, "boss") == 0 && strcmp(inbox->items[0].type, "alarm") == 0);
  beeline_inbox_free(inbox);
  OK(beeline_receive_batch(boss, SECOND, NULL, messages, 4, &count));
  CHECK(count == 2 && says(messages[0], "one") && says(messages[1], "two"));
  CHECK(beeline_message_from_name(messages[0], &count)[0] == 'b' && count == 4);
  CHECK(beeline_message_via(messages[0]) != beeline_message_id(messages[0]));
  CHECK(beeline_message_relation(messages[0]) <= BEELINE_FROM_OTHER);
  beeline_message_put_back(messages[1]);
  beeline_message_requeue(messages[0]);
  beeline_message_free(messages[0]);
  beeline_message_free(messages[1]);
  beeline_filter_init(&filter);
  filter.type = "alarm";
  OK(beeline_receive(boss, 0, &filter, messages));
  info.size = sizeof info;
  OK(beeline_message_describe(messages[0], &info));
  CHECK(info.id == id && info.attempts == 1 && info.rank == BEELINE_CRITICAL);
  CHECK(beeline_cancel(boss, self, id) == BEELINE_OK && beeline_message_is_cancelled(messages[0]));
  beeline_message_reject(messages[0], NULL, 0);
  beeline_message_free(messages[0]);
  OK(beeline_requeue_dead(boss, id));
  OK(beeline_receive(boss, SECOND, &filter, messages));
  beeline_message_reject(messages[0], NULL, 0);
  beeline_message_free(messages[0]);
  OK(beeline_list_inbox(boss, 10, NULL, &inbox));
  CHECK(inbox->count == 2 && inbox->items[1].place == BEELINE_PLACE_DEAD);
  CHECK(beeline_purge_dead(boss, inbox->items[1].id));
  beeline_inbox_free(inbox);
  CHECK(!beeline_purge_dead(boss, id) && beeline_purge_all_dead(boss) == 0);
  messages[0] = next(boss, "two");
  beeline_message_defer(messages[0]);
  beeline_message_done(messages[0], NULL, 0);
  beeline_message_free(messages[0]);
}

static void use_loans(beeline_agent* boss, beeline_peer self) {
  beeline_loan* loan;
  beeline_message* message;
  size_t length;
  OK(beeline_borrow(boss, self, 5000, 0, &loan));
  memcpy(beeline_loan_bytes(loan, &length), "lent", 4);
  CHECK(length >= 5000);
  OK(beeline_loan_shrink(loan, 4));
  OK(beeline_loan_send(loan, 0, NULL, NULL));
  CHECK(beeline_loan_send(loan, 0, NULL, NULL) == BEELINE_CLOSED);
  CHECK(beeline_loan_bytes(loan, NULL) == NULL);
  beeline_loan_free(loan);
  message = next(boss, "lent");
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
}

static void use_hive(beeline_agent* boss) {
  beeline_agents* agents;
  beeline_deliveries* deliveries;
  beeline_links* links;
  beeline_counters counters;
  beeline_send_options copy = typed("news");
  OK(beeline_children(boss, false, &agents));
  CHECK(agents->count == 1 && strcmp(agents->items[0].name, "worker") == 0);
  beeline_agents_free(agents);
  OK(beeline_siblings(boss, &agents));
  CHECK(agents->count == 0);
  beeline_agents_free(agents);
  OK(beeline_info(boss, 0, &agents));
  CHECK(agents->count == 1 && agents->items[0].children == 1);
  beeline_agents_free(agents);
  OK(beeline_find(boss, "worker", BEELINE_TEXT, &agents));
  CHECK(agents->items[0].os_pid != 0 && strcmp(agents->items[0].role, "worker") == 0);
  beeline_agents_free(agents);
  OK(beeline_broadcast(boss, BEELINE_GROUP_ROLE, "worker", "hi", 2, &copy, &deliveries));
  CHECK(deliveries->count == 1 && deliveries->items[0].code == BEELINE_OK);
  beeline_deliveries_free(deliveries);
  counters.size = sizeof counters;
  OK(beeline_count(boss, &counters));
  CHECK(counters.drained == counters.done + counters.purged + counters.leased);
  OK(beeline_list_links(boss, &links));
  CHECK(links->count == 2);
  beeline_links_free(links);
  beeline_set_sleeping(boss, true);
  beeline_set_sleeping(boss, false);
}

static void use_answers(beeline_agent* boss, beeline_peer worker) {
  beeline_message* message;
  beeline_send_options question = typed("question"), later = typed("later"), now = typed("now");
  beeline_send_options bad = typed("bad"), up = typed("up");
  beeline_question both[2] = {{worker, "a", 1, &question}, {worker, "b", 1, &bad}};
  beeline_answer answers[2];
  beeline_ack ack;
  beeline_id id;
  OK(beeline_request(boss, worker, "is it", 5, PATIENCE, &question, &message));
  CHECK(says(message, "yes"));
  beeline_message_free(message);
  OK(beeline_request_all(boss, both, 2, PATIENCE, answers));
  CHECK(answers[0].code == BEELINE_OK && says(answers[0].message, "yes"));
  CHECK(answers[1].code == BEELINE_REJECTED && answers[1].message == NULL);
  beeline_message_free(answers[0].message);
  OK(beeline_fire_and_forget(boss, worker, NULL, 0, &later, &id));
  OK(beeline_send(boss, worker, NULL, 0, PATIENCE, &now, NULL));
  while (beeline_next_result(boss, &message) == BEELINE_NOTHING) {
    CHECK(beeline_receive(boss, 1000000, NULL, &message) == BEELINE_NOTHING);
  }
  CHECK(says(message, "at last"));
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
  CHECK(beeline_send_acked(boss, worker, "x", 1, PATIENCE, &bad, &ack) == BEELINE_OK);
  CHECK(ack.status == BEELINE_ACK_REJECTED && same(ack.reply, ack.reply_length, "no"));
  up.requires_ack = true;
  OK(beeline_send(boss, worker, "help", 4, PATIENCE, &up, &id));
  message = next(boss, "help");
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
  OK(beeline_await_ack(boss, worker, id, PATIENCE, &ack));
  CHECK(ack.status == BEELINE_ACK_ESCALATE && ack.id == id);
  OK(beeline_escalate(boss, "for the log", 11, NULL, NULL));
}

/* Polls until `is_there(found)`. */
static void loop_until(beeline_agent* agent, int (*is_there)(const beeline_readiness*)) {
  struct pollfd readable;
  beeline_readiness found;
  readable.fd = beeline_fd(agent);
  readable.events = POLLIN;
  found.size = sizeof found;
  for (;;) {
    OK(beeline_poll(agent, &found));
    if (is_there(&found)) return;
    CHECK(poll(&readable, 1, found.next_ns > SECOND ? 1000 : (int)(found.next_ns / 1000000) + 1) >=
              0 ||
          errno == EINTR);
  }
}
static int has_answers(const beeline_readiness* found) { return found->answers == 1; }
static int has_acks(const beeline_readiness* found) { return found->acks == 1; }
static int has_peers(const beeline_readiness* found) { return found->peers == 1; }
static int has_lists(const beeline_readiness* found) { return found->lists == 1; }
static int has_spaces(const beeline_readiness* found) { return found->spaces == 1; }
static int has_ended(const beeline_readiness* found) { return found->ended; }

static void use_loop(beeline_agent* boss, beeline_peer worker) {
  beeline_send_options question = typed("question");
  beeline_id first, id;
  beeline_answer answer;
  beeline_ack ack;
  beeline_call call, done;
  beeline_code code;
  beeline_peer peer;
  beeline_agents* agents;
  OK(beeline_request_start(boss, worker, "a", 1, PATIENCE, &question, &first));
  CHECK(beeline_forget(boss, first) && !beeline_forget(boss, first));
  OK(beeline_request_start(boss, worker, "a", 1, PATIENCE, &question, &id));
  loop_until(boss, has_answers);
  OK(beeline_look_for_answers(boss));
  OK(beeline_next_answer(boss, &answer));
  CHECK(answer.id == id && says(answer.message, "yes"));
  beeline_message_free(answer.message);
  CHECK(beeline_next_answer(boss, &answer) == BEELINE_NOTHING);
  OK(beeline_send_acked_start(boss, worker, "a", 1, PATIENCE, NULL, &id));
  loop_until(boss, has_acks);
  OK(beeline_next_ack(boss, &ack));
  CHECK(ack.id == id && ack.code == BEELINE_OK && ack.status == BEELINE_ACK_ACCEPTED);
  OK(beeline_find_peer_start(boss, "worker", BEELINE_TEXT, 0, &call));
  loop_until(boss, has_peers);
  OK(beeline_next_peer(boss, &done, &code, &peer));
  CHECK(done == call && code == BEELINE_OK && peer.pid == worker.pid);
  OK(beeline_list_start(boss, &call));
  loop_until(boss, has_lists);
  OK(beeline_next_list(boss, &done, &code, &agents));
  CHECK(done == call && code == BEELINE_OK && agents->count == 3);
  beeline_agents_free(agents);
  CHECK(!beeline_forget_call(boss, call));
  OK(beeline_want_space(boss, worker, true));
  loop_until(boss, has_spaces);
  OK(beeline_next_space(boss, &peer));
  CHECK(peer.pid == worker.pid);
}

static void use_tasks(beeline_agent* boss, beeline_peer worker) {
  static const int32_t kinds[] = {BEELINE_EVENT_UPDATE, BEELINE_EVENT_LOG, BEELINE_EVENT_END};
  beeline_pair parameter = {{"n", 1}, {"7", 1}};
  beeline_event* event;
  beeline_work task;
  beeline_id id;
  beeline_work_init(&task);
  task.description.data = "count";
  task.description.length = 5;
  task.params = &parameter;
  task.param_count = 1;
  OK(beeline_execute_start(boss, worker, &task, BEELINE_FOREVER, &id));
  for (int i = 0; i < 3; ++i) {
    OK(beeline_next_task_event(boss, PATIENCE, &event));
    CHECK(beeline_event_task(event) == id && beeline_event_kind(event) == kinds[i]);
    OK(beeline_event_code(event));
    if (i == 0) CHECK(strcmp(beeline_event_text(event, NULL), "half") == 0);
    if (i == 2) {
      const beeline_outcome* outcome = beeline_event_outcome(event);
      CHECK(outcome->exit_code == 3 && outcome->artifact_count == 1);
      CHECK(same(outcome->output.data, outcome->output.length, "ready"));
    }
    beeline_event_free(event);
  }
  CHECK(beeline_execute(boss, worker, &task, PATIENCE, &event) == BEELINE_FAILED);
  CHECK(strstr(beeline_error_text(), "no such file") != NULL && event == NULL);
  OK(beeline_execute_start(boss, worker, &task, BEELINE_FOREVER, &id));
  usleep(20000);
  CHECK(beeline_cancel_task(boss, id));
  OK(beeline_next_task_event(boss, PATIENCE, &event));
  CHECK(beeline_event_code(event) != BEELINE_OK && beeline_event_outcome(event) == NULL);
  beeline_event_free(event);
}

static void bid_farewell(beeline_agent* boss, pid_t process) {
  beeline_message* message = next(boss, "bye");
  beeline_notice notice;
  uint64_t left;
  int status;
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
  CHECK(waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  do {
    while (beeline_next_notice(boss, &notice) == BEELINE_NOTHING) {
      CHECK(beeline_receive(boss, 1000000, NULL, &message) == BEELINE_NOTHING);
    }
  } while (strcmp(notice.name, "spawned") == 0);
  CHECK(notice.kind == BEELINE_CHILD_AWAY && strcmp(notice.name, "worker") == 0);
  beeline_detach_start(boss, SECOND);
  loop_until(boss, has_ended);
  OK(beeline_left_behind(boss, &left));
  CHECK(left == 0);
  beeline_close(boss);
}

int main(int count, char** words) {
  int begin[2];
  pid_t process;
  beeline_agent* boss;
  beeline_peer self, worker;
  beeline_sender* sender;
  beeline_message* message;
  if (count == 2 && strcmp(words[1], "child") == 0) return be_child();
  CHECK(pipe(begin) == 0);
  process = fork();
  if (process == 0) return work(begin[0]);
  use_words();
#ifdef BEELINE_HAS_SPOOL
  use_spool();
#endif
  boss = attached_in_steps();
  CHECK(write(begin[1], "x", 1) == 1);
  OK(beeline_wait_for(boss, "worker", BEELINE_TEXT, PATIENCE, process, -1, &worker));
  OK(beeline_find_peer(boss, "boss", 4, &self));
  use_messages(boss, self);
  use_loans(boss, self);
  use_hive(boss);
  use_answers(boss, worker);
  OK(beeline_sender_new(boss, &sender));
  OK(beeline_sender_send(sender, self, "shared", 6, SECOND, NULL, NULL));
  beeline_sender_free(sender);
  message = next(boss, "shared");
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
  use_loop(boss, worker);
  OK(beeline_send_control(boss, worker, "end", BEELINE_TEXT, NULL, 0, NULL, NULL));
  use_tasks(boss, worker);
  use_processes(boss);
  use_buffer(boss);
  bid_farewell(boss, process);
  return 0;
}
