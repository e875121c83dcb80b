#pragma once
// The directory as a reader sees it, for the sweep of the coordinator.

#include <string>
#include <vector>

#include "shm/directory.h"

namespace beeline::killpoints {

struct Book {
  std::uint64_t epoch = 0;
  std::uint32_t count = 0;
  std::vector<std::uint64_t> words;
  std::vector<shm::AgentRecord> records;
};

inline constexpr std::uint32_t kBookPlaces = 24;  // no scenario has more agents

[[nodiscard]] Book read_book(const shm::DirectoryView& directory);

// Every record is of one round, the one before or the one after, and every word is one of the two.
// `is_after` tells the round. Returns an empty text if the book is right.
[[nodiscard]] std::string judge_book(const Book& found, const Book& before, const Book& after,
                                     bool& is_after);

}  // namespace beeline::killpoints
