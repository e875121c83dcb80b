#include "tests/explore/sites.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace beeline::explore {

namespace {

// The folders with orders of their own. engine.h repeats, step by step, the accesses of src/ around
// the headers.
constexpr std::array<const char*, 2> kFolders = {"shm", "src/wake"};
constexpr const char* kEngine = "tests/explore/engine.h";
constexpr const char* kDoor = "shm/atomic.h";  // the one file that spells orders

constexpr std::array<std::string_view, 6> kCalls = {".publish(",  "->publish(",  ".observe(",
                                                    "->observe(", "full_fence(", "crash_fence("};
constexpr std::array<std::string_view, 2> kRaw = {"std::atomic", "memory_order"};

std::size_t count_of(const std::string& code, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = code.find(text); at != std::string::npos; at = code.find(text, at + 1)) {
    ++count;
  }
  return count;
}

template <std::size_t kCount>
std::size_t count_of(const std::string& code, const std::array<std::string_view, kCount>& texts) {
  std::size_t count = 0;
  for (const std::string_view text : texts) count += count_of(code, text);
  return count;
}

void complain(const std::string& file, int line, const char* what) {
  std::fprintf(stderr, "explorer: %s:%d: %s\n", file.c_str(), line, what);
}

}  // namespace

bool Sites::read(const std::string& root) {
  sites_.clear();
  files_ = {kEngine};
  std::error_code error;
  for (const std::string folder : kFolders) {
    for (const auto& entry : std::filesystem::directory_iterator(root + "/" + folder, error)) {
      const std::string file = folder + "/" + entry.path().filename().string();
      if (file != kDoor && (file.ends_with(".h") || file.ends_with(".cc"))) files_.push_back(file);
    }
  }
  std::sort(files_.begin(), files_.end());
  bool good = true;
  for (const std::string& file : files_) good = read_file(root, file) && good;
  forget_reached();
  if (!error && !sites_.empty()) return good;
  std::fprintf(stderr, "explorer: no sources in %s; name the root of the repository\n",
               root.c_str());
  return false;
}

bool Sites::read_file(const std::string& root, const std::string& file) {
  std::ifstream in(root + "/" + file);
  std::string text;
  bool good = true;
  for (int line = 1; std::getline(in, text); ++line) {
    const std::string code = text.substr(0, text.find("//"));
    if (count_of(code, kRaw) != 0) {
      complain(file, line, "an atomic that goes around shm/atomic.h: use shm::Atomic");
      good = false;
    }
    const std::size_t orders = count_of(code, kCalls);
    if (orders == 0) continue;
    if (orders > 1) {
      complain(file, line, "two orders in one line cannot be weakened one by one: split the line");
      good = false;
    }
    text.erase(0, text.find_first_not_of(' '));
    sites_.push_back({file, line, text});
  }
  return good;
}

void Sites::note_unknown(Place place) {
  const std::string_view path(place.file);
  for (const std::string& file : files_) {
    if (!path.ends_with(file)) continue;
    const std::string name = file + ":" + std::to_string(place.line);
    if (std::find(unknown_.begin(), unknown_.end(), name) == unknown_.end()) {
      unknown_.push_back(name);
    }
  }
}

std::string Sites::name(std::size_t site) const {
  return sites_[site].file + ":" + std::to_string(sites_[site].line);
}

int Sites::find(Place place) {
  struct Known {
    const char* file;
    int line;
    int site;
  };
  static std::array<Known, 4096> cache{};
  const auto hash =
      reinterpret_cast<std::uintptr_t>(place.file) * 31 + static_cast<std::uintptr_t>(place.line);
  Known& known = cache[hash % cache.size()];
  if (known.file == place.file && known.line == place.line) return known.site;
  known = {place.file, place.line, -1};
  const std::string_view path(place.file);
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].line == place.line && path.ends_with(sites_[i].file)) {
      known.site = static_cast<int>(i);
    }
  }
  return known.site;
}

Sites& sites() {
  static Sites all;
  return all;
}

}  // namespace beeline::explore
