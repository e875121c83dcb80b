#include "tests/killpoints/book.h"

#include <fmt/format.h>

namespace beeline::killpoints {
namespace {

bool same_records(const Book& a, const Book& b) {
  return std::memcmp(a.records.data(), b.records.data(), kBookPlaces * sizeof(shm::AgentRecord)) ==
         0;
}

}  // namespace

Book read_book(const shm::DirectoryView& directory) {
  Book book;
  book.epoch = directory.epoch();
  book.count = directory.agent_count();
  book.records.resize(kBookPlaces);
  for (std::uint32_t i = 0; i < kBookPlaces; ++i) {
    book.words.push_back(directory.word(i).observe());
    // Without a writer the directory does not change twice during a read.
    if (!directory.read_record(i, book.records[i])) book.records[i].pid = UINT32_MAX;
  }
  return book;
}

std::string judge_book(const Book& found, const Book& before, const Book& after, bool& is_after) {
  is_after = found.epoch == after.epoch;
  if (!is_after && found.epoch != before.epoch) {
    return fmt::format("directory: its epoch is {}, it was {} and becomes {}", found.epoch,
                       before.epoch, after.epoch);
  }
  if (!same_records(found, is_after ? after : before)) {
    return fmt::format("directory: its records are not those of round {}", found.epoch);
  }
  for (std::uint32_t i = 0; i < kBookPlaces; ++i) {
    if (found.words[i] == before.words[i] || found.words[i] == after.words[i]) continue;
    return fmt::format("directory: word {} is {:x}", i, found.words[i]);
  }
  // The count never includes places without a record.
  if (found.count == before.count || (is_after && found.count == after.count)) return {};
  return fmt::format("directory: {} places are counted in round {}", found.count, found.epoch);
}

}  // namespace beeline::killpoints
