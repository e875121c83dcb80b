#include "tools/beeline/buffer_verbs.h"

namespace beeline::cli {

void add_buffer_verbs(CLI::App& app, Context& context) {
  auto* buffer = app.add_subcommand("buffer", "Messages on the disk, in batches: put, next, ...");
  buffer->require_subcommand(1);
  add_buffer_run_verb(*buffer, context);
  add_buffer_work_verbs(*buffer, context);
  add_buffer_look_verbs(*buffer, context);
  buffer->footer(
      "Examples:\n"
      "  beeline buffer run --db buffer.db --config koshi.yaml &\n"
      "  beeline buffer put --channel github --conversation pr-7 '{\"action\":\"opened\"}'\n"
      "  batch=$(beeline buffer next --timeout 1m --json)\n"
      "  beeline buffer ack \"$(jq .id <<< \"$batch\")\"\n"
      "  beeline buffer status\n"
      "`buffer run` is the agent that keeps the messages in an SQLite file; the other verbs ask "
      "it.\n"
      "A message is on the disk when `put` returns. Messages of one conversation and channel are\n"
      "one batch. A batch goes to the main agent, to an agent that is spawned for it, or nowhere,\n"
      "as the routes of the configuration say. It comes again until it is acknowledged.");
}

}  // namespace beeline::cli
