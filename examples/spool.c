/* A worker in C that prints the tasks of a folder and ends them: spool DIR. It ends when none has
 * come for a second. */
#include <beeline/c/spool.h>
#include <stdio.h>

static const int64_t kSecondNs = 1000000000;

int main(int argc, char** argv) {
  beeline_spool_options options;
  beeline_spool* spool;
  beeline_spool_options_init(&options);
  if (argc > 1) options.dir = argv[1];
  if (beeline_spool_open(&options, &spool) != BEELINE_SPOOL_OK) {
    return fprintf(stderr, "%s\n", beeline_error_text()), 1;
  }
  beeline_claim* claim;
  while (beeline_spool_claim(spool, kSecondNs, &claim) == BEELINE_SPOOL_OK) {
    puts(beeline_claim_json(claim));
    beeline_claim_complete(claim, "{\"verdict\": \"pass\"}", BEELINE_TEXT);
    beeline_claim_free(claim); /* puts back a task that has not ended */
  }
  beeline_spool_close(spool);
  return 0;
}
