#pragma once
// Breaks a segment as its owner can: by writing over it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include <beeline/types.h>

#include "shm/segment.h"
#include "src/look/segment_name.h"

namespace beeline::test {

// The header of a segment of an agent of this process, written over for the life of this object. No
// other process can write there, and no descriptor of it.
class WrittenOver {
 public:
  WrittenOver(std::string_view hive, shm::SegmentKind kind, Pid owner) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; header_ == nullptr && std::getline(maps, line);) {
      const auto at = line.find("/memfd:");
      if (at == std::string::npos || line.find(" rw-s 00000000 ") == std::string::npos) continue;
      const auto name = look::parse_segment_name(look::memfd_name(line.substr(at)), hive);
      if (!name || name->kind != kind || name->pid != owner) continue;
      header_ = reinterpret_cast<char*>(std::stoull(line, nullptr, 16));
    }
    EXPECT_NE(header_, nullptr) << "no such mapping";
    if (header_ == nullptr) return;
    std::copy_n(header_, saved_.size(), saved_.data());
    std::fill_n(header_, saved_.size(), '?');
  }
  WrittenOver(const WrittenOver&) = delete;
  WrittenOver& operator=(const WrittenOver&) = delete;
  ~WrittenOver() {
    if (header_ != nullptr) std::copy(saved_.begin(), saved_.end(), header_);
  }

 private:
  char* header_ = nullptr;
  std::array<char, 64> saved_{};
};

}  // namespace beeline::test
