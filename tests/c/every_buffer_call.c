/* One process uses every function of <beeline/c/buffer.h>, with the program that keeps the
 * messages. */

#include "tests/c/every_call.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef BEELINE_HAS_BUFFER
static const char kConfig[] =
    "buffer: {batchWindowMs: 1}\n"
    "routes:\n"
    "  - match: {channel: jobs}\n"
    "    action: {spawn: {template: nobody, task: do it}}\n";

/* In a folder of its own, with a template that is not there. */
static pid_t start_buffer(const char* folder) {
  char program[4096], config[256], database[256];
  FILE* file;
  pid_t process;
  CHECK(snprintf(program, sizeof program, "%s/beeline", getenv("BEELINE_BIN")) > 0);
  CHECK(snprintf(config, sizeof config, "%s/koshi.yaml", folder) > 0);
  CHECK(snprintf(database, sizeof database, "%s/buffer.db", folder) > 0);
  CHECK((file = fopen(config, "w")) != NULL && fputs(kConfig, file) >= 0 && fclose(file) == 0);
  process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a check fails */
    execl(program, program, "buffer", "run", "--db", database, "--config", config, (char*)NULL);
    _exit(127);
  }
  CHECK(process > 0);
  return process;
}

static int64_t put(beeline_agent* agent, const char* channel, const char* key, bool is_repeat) {
  beeline_buffer_entry entry;
  int64_t id;
  bool repeated;
  beeline_buffer_entry_init(&entry);
  entry.channel = channel;
  entry.conversation = "talk";
  entry.payload = "{\"n\": 1}";
  entry.key = key;
  entry.priority = 5;
  entry.sets_priority = true;
  OK(beeline_buffer_put(agent, NULL, &entry, PATIENCE, &id, &repeated));
  CHECK(id > 0 && repeated == is_repeat);
  return id;
}

static beeline_message* next_batch(beeline_agent* agent, beeline_buffer_batch** batch) {
  beeline_filter filter;
  beeline_message* message;
  beeline_filter_init(&filter);
  filter.type = BEELINE_BUFFER_BATCH;
  OK(beeline_buffer_next(agent, "buffer", 1));
  OK(beeline_receive(agent, PATIENCE, &filter, &message));
  OK(beeline_buffer_read(message, batch));
  return message;
}

static void use_batches(beeline_agent* agent) {
  const int64_t id = put(agent, "chat", "once", false);
  beeline_buffer_batch* batch;
  beeline_buffer_status* status;
  beeline_message* message;
  bool was_open;
  CHECK(put(agent, "chat", "once", true) == id);
  message = next_batch(agent, &batch);
  CHECK(batch->count == 1 && batch->items[0].id == id && batch->items[0].priority == 5);
  CHECK(strcmp(batch->channel, "chat") == 0 && strcmp(batch->conversation, "talk") == 0);
  CHECK(strcmp(batch->items[0].sender, "boss") == 0 && !batch->redelivered);
  CHECK(same(batch->items[0].payload, batch->items[0].payload_length, "{\"n\": 1}"));
  OK(beeline_buffer_describe(agent, NULL, &status));
  CHECK(status->count == 0 && status->leased_batches == 1 && status->leased_messages == 1);
  beeline_buffer_status_free(status);
  OK(beeline_buffer_acknowledge(agent, NULL, batch->id, &was_open));
  CHECK(was_open);
  OK(beeline_buffer_acknowledge(agent, NULL, batch->id, &was_open));
  CHECK(!was_open);
  beeline_buffer_batch_free(batch);
  beeline_message_done(message, NULL, 0);
  beeline_message_free(message);
}

static void use_buffer_tasks(beeline_agent* agent) {
  beeline_buffer_tasks* tasks = NULL;
  (void)put(agent, "jobs", NULL, false);
  do { /* the task fails, because its template is not there */
    beeline_buffer_tasks_free(tasks);
    OK(beeline_buffer_list_tasks(agent, NULL, "failed", &tasks));
  } while (tasks->count == 0);
  CHECK(tasks->count == 1 && tasks->items[0].id > 0 && tasks->items[0].batch > 0);
  CHECK(strcmp(tasks->items[0].channel, "jobs") == 0 && tasks->items[0].pid == 0);
  CHECK(strcmp(tasks->items[0].agent_template, "nobody") == 0 && !tasks->items[0].has_exit_code);
  CHECK(strcmp(tasks->items[0].text, "do it") == 0 && tasks->items[0].result[0] != 0);
  beeline_buffer_tasks_free(tasks);
}

void use_buffer(beeline_agent* boss) {
  char folder[] = "/tmp/every-buffer-XXXXXX";
  char command[64];
  pid_t process;
  beeline_peer buffer;
  int status;
  CHECK(mkdtemp(folder) != NULL);
  process = start_buffer(folder);
  OK(beeline_wait_for(boss, "buffer", BEELINE_TEXT, PATIENCE, process, -1, &buffer));
  use_batches(boss);
  use_buffer_tasks(boss);
  CHECK(kill(process, SIGTERM) == 0 && waitpid(process, &status, 0) == process);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(snprintf(command, sizeof command, "rm -r %s", folder) > 0 && system(command) == 0);
}
#else
void use_buffer(beeline_agent* boss) {
  beeline_buffer_entry entry;
  beeline_buffer_status* status;
  beeline_buffer_tasks* tasks;
  beeline_buffer_batch* batch = NULL;
  beeline_buffer_entry_init(&entry);
  CHECK(beeline_buffer_put(boss, NULL, &entry, 0, NULL, NULL) == BEELINE_NO_AGENT);
  CHECK(beeline_buffer_next(boss, NULL, 1) == BEELINE_NO_AGENT);
  CHECK(beeline_buffer_read(NULL, &batch) == BEELINE_INVALID);
  CHECK(beeline_buffer_acknowledge(boss, NULL, 1, NULL) == BEELINE_NO_AGENT);
  CHECK(beeline_buffer_describe(boss, NULL, &status) == BEELINE_NO_AGENT);
  CHECK(beeline_buffer_list_tasks(boss, NULL, NULL, &tasks) == BEELINE_NO_AGENT);
  beeline_buffer_batch_free(batch);
  beeline_buffer_status_free(status);
  beeline_buffer_tasks_free(tasks);
}
#endif
