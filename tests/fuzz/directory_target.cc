// The readers of a damaged directory: tree, routes, names. They end, stay inside, and show no name
// that is longer than its field.

#include "shm/directory.h"
#include "src/agent/directory_tree.h"
#include "src/control/name_search.h"
#include "src/control/routing.h"
#include "tests/fuzz/target.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

BEELINE_FUZZ_TARGET(directory) {
  static const test::Sample sound = test::sample_directory();
  test::Sample sample = sound;
  Feed feed(input);
  // Most of the segment is empty: write to a place in use, or anywhere.
  const bool near = feed.take<std::uint8_t>() % 4 != 0;
  const auto bytes = sample.bytes();
  if (near) {
    scribble(feed, bytes.first(shm::kPage + 64), 8);
    scribble(feed, bytes.subspan(shm::DirectoryLayout::kRecords0, 8 * sizeof(shm::AgentRecord)),
             16);
  }
  scribble(feed, bytes, 64);
  const shm::DirectoryView view(sample.data());
  FUZZ_DEMAND(view.agent_count() <= shm::kMaxAgents);
  control::NameSearch search("worker", 0);
  for (std::uint32_t i = 0; i < view.agent_count(); ++i) {
    (void)view.agent(i);
    shm::AgentRecord record;
    FUZZ_DEMAND(view.read_record(i, record));  // nobody writes meanwhile
    search.offer(record.pid, {record.name, strnlen(record.name, shm::kNameBytes)}, record.uid);
  }
  const control::Tree tree = read_tree(view);
  for (const std::uint32_t from : {1U, 7U, 9U, 11U, search.found()}) {
    for (const std::uint32_t to : {1U, 7U, 9U, 11U, search.found()}) {
      const control::Verdict verdict = control::route(tree, from, to);
      FUZZ_DEMAND(verdict.allowed || !verdict.text.empty());
    }
    (void)tree.children(from);
  }
}

}  // namespace
}  // namespace beeline::fuzz
