/* One process uses every function of <beeline/c/spool.h>. */

#include "tests/c/every_call.h"

#include <poll.h>
#include <unistd.h>

static const char kTask[] =
    "{\"id\": \"t1\", \"title\": \"Count\", \"priority\": 2, \"mine\": [1]}";

static void readable(int descriptor) {
  struct pollfd watched;
  watched.fd = descriptor;
  watched.events = POLLIN;
  CHECK(poll(&watched, 1, 60000) == 1);
}

static beeline_claim* claimed(beeline_spool* spool, const char* id) {
  beeline_claim* claim;
  OK(beeline_spool_claim(spool, PATIENCE, &claim));
  CHECK(strcmp(beeline_claim_id(claim), id) == 0 && beeline_claim_is_held(claim));
  return claim;
}

static void use_claims(beeline_spool* spool) {
  beeline_claim* claim = claimed(spool, "t1");
  const char* text;
  size_t length;
  bool waits;
  CHECK(strstr(beeline_claim_json(claim), "\"mine\": [\n") != NULL);
  OK(beeline_claim_heartbeat(claim));
  OK(beeline_claim_write_note(claim, "half", BEELINE_TEXT));
  beeline_claim_keep(claim);
  CHECK(!beeline_claim_is_held(claim));
  CHECK(beeline_claim_heartbeat(claim) == BEELINE_SPOOL_TASK_NOT_FOUND);
  beeline_claim_free(claim);
  OK(beeline_spool_take_over(spool, &text));
  CHECK(strcmp(text, "[\"t1\"]") == 0);
  OK(beeline_spool_held(spool, "t1", BEELINE_TEXT, &claim));
  text = beeline_claim_note(claim, &length);
  CHECK(same(text, length, "half"));
  OK(beeline_claim_retry(claim, "once more", BEELINE_TEXT, &waits));
  CHECK(waits);
  beeline_claim_free(claim);
  claim = claimed(spool, "t1");
  CHECK(strstr(beeline_claim_json(claim), "\"last_error\": \"once more\"") != NULL);
  OK(beeline_claim_complete(claim, "{\"verdict\": \"pass\"}", BEELINE_TEXT));
  beeline_claim_free(claim);
  OK(beeline_spool_put(spool, "{\"id\": \"t2\"}", BEELINE_TEXT, NULL));
  claim = claimed(spool, "t2");
  OK(beeline_claim_fail(claim, "no such file", BEELINE_TEXT));
  beeline_claim_free(claim);
}

void use_spool(void) {
  char dir[] = "/tmp/every-call-XXXXXX", file[64], command[64];
  beeline_spool_options options;
  beeline_spool* spool;
  beeline_spool_watch* watch;
  beeline_spool_change change;
  beeline_claim* claim;
  const char* text;
  FILE* note;
  CHECK(mkdtemp(dir) != NULL);
  beeline_spool_options_init(&options);
  options.dir = dir;
  options.worker = "w";
  OK(beeline_spool_open(&options, &spool));
  OK(beeline_spool_describe(spool, &text));
  CHECK(strstr(text, "\"worker\": \"w\"") != NULL && strstr(text, dir) != NULL);
  OK(beeline_spool_watch_open(&options, &watch));
  CHECK(beeline_spool_claim(spool, 0, &claim) == BEELINE_SPOOL_NO_TASKS && claim == NULL);
  CHECK(beeline_spool_fd(spool) >= 0);
  CHECK(beeline_spool_claim(spool, 0, &claim) == BEELINE_SPOOL_NO_TASKS);
  OK(beeline_spool_put(spool, kTask, sizeof kTask - 1, &text));
  CHECK(strcmp(text, "t1") == 0);
  readable(beeline_spool_fd(spool));
  readable(beeline_spool_watch_fd(watch));
  CHECK(beeline_spool_watch_next(watch, &change) && strcmp(change.id, "t1") == 0 && change.came);
  CHECK(change.folder == BEELINE_FOLDER_INBOX && !beeline_spool_watch_next(watch, &change));
  beeline_spool_watch_free(watch);
  OK(beeline_spool_list(spool, BEELINE_FOLDER_INBOX, &text));
  CHECK(strstr(text, "[{\"id\": \"t1\", \"folder\": \"inbox\"") == text);
  use_claims(spool);
  OK(beeline_spool_find(spool, "t1", BEELINE_TEXT, &text));
  CHECK(strstr(text, "\"completion\": {") != NULL && strstr(text, "\"pass\"") != NULL);
  CHECK(snprintf(file, sizeof file, "%s/inbox/notes.txt", dir) > 0);
  CHECK((note = fopen(file, "w")) != NULL && fclose(note) == 0);
  OK(beeline_spool_sweep(spool, &text));
  CHECK(strcmp(text,
               "{\"recovered\": [], \"exhausted\": [], \"finished\": [], \"results\": 0, "
               "\"errors\": 0, \"temps\": 0}") == 0);
  CHECK(beeline_spool_claim(spool, 0, &claim) == BEELINE_SPOOL_NO_TASKS);
  CHECK(strcmp(beeline_spool_code_name(BEELINE_SPOOL_NO_TASKS), "ErrNoTasks") == 0);
  text = beeline_spool_next_remark(spool);
  CHECK(text != NULL && strstr(text, "notes.txt") != NULL);
  CHECK(beeline_spool_next_remark(spool) == NULL);
  beeline_spool_close(spool);
  CHECK(snprintf(command, sizeof command, "rm -r %s", dir) > 0 && system(command) == 0);
}
