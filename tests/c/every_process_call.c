/* One process uses every function of <beeline/c/processes.h>, and is the child that it spawns. */

#include "tests/c/every_call.h"

#include <unistd.h>

int be_child(void) {
  beeline_attach_options options;
  beeline_agent* agent;
  beeline_message* message;
  beeline_attach_options_init(&options);
  OK(beeline_attach(&options, &agent)); /* by its ticket: it has no name in its options */
  CHECK(strcmp(beeline_agent_name(agent), "spawned") == 0);
  printf("I am here\n");
  fflush(stdout);
  OK(beeline_receive(agent, PATIENCE, NULL, &message));
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
  beeline_close(agent);
  return 7;
}

static beeline_spawn_options options_of(const char* const* command) {
  static const beeline_pair variable = {{"EVERY", 5}, {"call", 4}};
  beeline_spawn_options options;
  beeline_spawn_options_init(&options);
  options.name = "spawned";
  options.command = command;
  options.command_count = 2;
  options.environment = &variable;
  options.environment_count = 1;
  options.restart = "never";
  return options;
}

#ifdef BEELINE_HAS_STEWARD
/* The steward tells the parent of the end, too. */
static void expect_end(beeline_agent* boss, beeline_peer child, const char* reason) {
  beeline_exit* end;
  beeline_filter filter;
  beeline_message* message;
  OK(beeline_wait_child(boss, child, PATIENCE, &end));
  CHECK(end->pid == child.pid && end->known && strcmp(end->reason, reason) == 0);
  CHECK(end->exit_code == 7 || end->reason[0] == 'k');
  CHECK(strstr(end->output, "I am here") != NULL);
  beeline_exit_free(end);
  beeline_filter_init(&filter);
  filter.type = "child_exited";
  OK(beeline_receive(boss, PATIENCE, &filter, &message));
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
}

static void sleep_and_wake(beeline_agent* boss, beeline_peer child) {
  const char* state;
  OK(beeline_sleep_child(boss, child, &state));
  CHECK(strcmp(state, "sleeping") == 0);
  OK(beeline_wake_child(boss, child, &state));
  CHECK(strcmp(state, "running") == 0);
  CHECK(beeline_wake_child(boss, child, &state) == BEELINE_INVALID && state == NULL);
  OK(beeline_signal_child(boss, child, BEELINE_SIGNAL_STOP, &state));
  CHECK(strcmp(state, "sleeping") == 0); /* and so it is killed */
}

void use_processes(beeline_agent* boss) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  const char* command[] = {self, "child"};
  beeline_processes* list;
  beeline_pids* killed;
  beeline_exit* end;
  beeline_pid pid;
  int32_t os_pid;
  CHECK(length > 0);
  self[length] = 0;
  const beeline_spawn_options options = options_of(command);
  OK(beeline_spawn(boss, &options, &pid, &os_pid));
  CHECK(pid > 1 && os_pid > 0);
  CHECK(beeline_wait_child(boss, beeline_peer_of(pid), 0, &end) == BEELINE_TIMEOUT && end == NULL);
  OK(beeline_list_processes(boss, true, &list));
  CHECK(list->count == 1 && list->items[0].pid == pid && list->items[0].os_pid == os_pid);
  CHECK(strcmp(list->items[0].state, "running") == 0 && list->items[0].end == NULL);
  beeline_processes_free(list);
  OK(beeline_send(boss, beeline_peer_of(pid), "end", 3, PATIENCE, NULL, NULL));
  expect_end(boss, beeline_peer_of(pid), "exited");

  OK(beeline_spawn(boss, &options, &pid, NULL));
  sleep_and_wake(boss, beeline_peer_of(pid));
  OK(beeline_kill_child(boss, beeline_peer_of(pid), true, &killed));
  CHECK(killed->count == 1 && killed->items[0] == pid);
  beeline_pids_free(killed);
  expect_end(boss, beeline_peer_of(pid), "killed");
  CHECK(beeline_kill_child(boss, beeline_peer_of(4711), true, NULL) == BEELINE_NO_AGENT);
  CHECK(beeline_signal_child(boss, beeline_peer_of(pid), BEELINE_SIGNAL_CONT, NULL) ==
        BEELINE_PEER_DEAD);
}
#else
void use_processes(beeline_agent* boss) {
  static const char* const command[] = {"/bin/true", "child"};
  const beeline_spawn_options options = options_of(command);
  beeline_processes* list;
  beeline_pids* killed;
  beeline_exit* end;
  beeline_pid pid;
  CHECK(beeline_spawn(boss, &options, &pid, NULL) != BEELINE_OK && pid == 0);
  CHECK(beeline_kill_child(boss, beeline_peer_of(2), true, &killed) != BEELINE_OK);
  CHECK(beeline_wait_child(boss, beeline_peer_of(2), 0, &end) != BEELINE_OK);
  CHECK(beeline_list_processes(boss, true, &list) != BEELINE_OK);
  CHECK(beeline_sleep_child(boss, beeline_peer_of(2), NULL) != BEELINE_OK);
  CHECK(beeline_wake_child(boss, beeline_peer_of(2), NULL) != BEELINE_OK);
  CHECK(beeline_signal_child(boss, beeline_peer_of(2), BEELINE_SIGNAL_TERM, NULL) != BEELINE_OK);
  beeline_pids_free(killed);
  beeline_exit_free(end);
  beeline_processes_free(list);
}
#endif
