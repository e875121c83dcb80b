/* A boss in C that starts a child, lets it sleep for a while, ends it and says how it ended. */
#include <beeline/c/processes.h>
#include <stdio.h>

static int failed(void) { return fprintf(stderr, "%s\n", beeline_error_text()), 1; }

static int look_after_a_child(beeline_agent* boss) {
  static const char* const command[] = {"beeline", "reply", "echo", "--echo"};
  beeline_spawn_options options;
  beeline_pid pid;
  const char* state;
  beeline_exit* end;
  beeline_spawn_options_init(&options);
  options.name = "echo";
  options.command = command;
  options.command_count = 4;
  if (beeline_spawn(boss, &options, &pid, NULL) != BEELINE_OK) return failed();
  const beeline_peer echo = beeline_peer_of(pid); /* it has attached */
  if (beeline_sleep_child(boss, echo, &state) != BEELINE_OK) return failed();
  puts(state); /* sleeping: its messages wait */
  if (beeline_wake_child(boss, echo, &state) != BEELINE_OK) return failed();
  puts(state); /* running */
  if (beeline_kill_child(boss, echo, true, NULL) != BEELINE_OK) return failed();
  if (beeline_wait_child(boss, echo, BEELINE_FOREVER, &end) != BEELINE_OK) return failed();
  puts(end->reason); /* killed */
  beeline_exit_free(end);
  return 0;
}

int main(void) {
  beeline_attach_options options;
  beeline_agent* boss;
  beeline_attach_options_init(&options);
  options.name = "boss";
  options.role = "lead"; /* it may end and stop its children */
  if (beeline_attach(&options, &boss) != BEELINE_OK) return failed();
  const int status = look_after_a_child(boss);
  beeline_close(boss);
  return status;
}
