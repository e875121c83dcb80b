/* A worker in C that counts the lines of files: worker NAME. */
#include <beeline/c.h>
#include <stdio.h>

static int failed(void) { return fprintf(stderr, "%s\n", beeline_error_text()), 1; }

/* The payload is the name of a file. The message is held: if this process is killed now, the next
 * worker gets it. */
static int32_t count_lines(beeline_message* message, void* unused) {
  char name[4096], answer[32];
  size_t length;
  const char* text = beeline_message_payload(message, &length);
  (void)unused;
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  FILE* file = fopen(name, "r");
  if (file == NULL) {
    beeline_message_reject(message, "no such file", BEELINE_TEXT);
    return BEELINE_ACK_REJECTED;
  }
  unsigned long lines = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n';
  fclose(file);
  snprintf(answer, sizeof answer, "%lu", lines);
  beeline_message_done(message, answer, BEELINE_TEXT);
  return BEELINE_ACK_ACCEPTED;
}

int main(int argc, char** argv) {
  beeline_attach_options options;
  beeline_agent* agent;
  beeline_attach_options_init(&options);
  options.name = argc > 1 ? argv[1] : "worker";
  if (beeline_attach(&options, &agent) != BEELINE_OK) return failed();
  beeline_code end = beeline_serve(agent, count_lines, NULL, BEELINE_FOREVER, SIZE_MAX, NULL);
  if (end != BEELINE_CLOSED) failed(); /* it is closed when the hive goes down */
  beeline_close(agent);
  return end != BEELINE_CLOSED;
}
