#include "tests/explore/sites.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace beeline::explore {

namespace {

// What runs here with its own orders besides shm/. engine.h repeats, step by step, what src/ does
// around the headers.
constexpr std::array<const char*, 2> kOthers = {"src/wake/waiter.cc", "tests/explore/engine.h"};

constexpr std::array<std::string_view, 6> kCalls = {".publish(",  "->publish(",  ".observe(",
                                                    "->observe(", "full_fence(", "crash_fence("};

bool asks_for_order(const std::string& line) {
  // A seeded bug of shm/mutant.h is no order of the engine.
  if (line.find("is_mutant(") != std::string::npos) return false;
  const std::string code = line.substr(0, line.find("//"));
  return std::any_of(kCalls.begin(), kCalls.end(),
                     [&](std::string_view call) { return code.find(call) != std::string::npos; });
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The functions of a file, as its lines go by.
class Functions {
 public:
  [[nodiscard]] const std::string& at(const std::string& line) {
    const std::size_t open = line.find('{');
    const char last = line.empty() ? ';' : line.back();
    header_ += line.substr(0, open) + ' ';
    if (open != std::string::npos && last != ';') name(header_);
    const bool goes_on = open == std::string::npos && last != ';' && last != '}' && last != ':' &&
                         line.find("//") == std::string::npos;
    if (!goes_on) header_.clear();
    return function_;
  }

 private:
  // Takes the name out of a header, if it is one of a function: the word before its parameters.
  void name(const std::string& header) {
    const std::size_t end = header.find('(');
    if (end == std::string::npos) return;
    std::size_t start = end;
    while (start != 0 && is_word(header[start - 1])) --start;
    const std::string word = header.substr(start, end - start);
    for (const char* other : {"", "if", "for", "while", "switch"}) {
      if (word == other) return;
    }
    function_ = word;
  }

  std::string header_;  // since the last statement
  std::string function_;
};

}  // namespace

bool Sites::read(const std::string& root) {
  sites_.clear();
  std::vector<std::string> files(kOthers.begin(), kOthers.end());
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/shm", error)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".h") && name != "atomic.h") files.push_back("shm/" + name);
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) read_file(root, file);
  forget_reached();
  if (!error && !sites_.empty()) return true;
  std::fprintf(stderr, "explorer: no header in %s/shm; name the root of the repository\n",
               root.c_str());
  return false;
}

void Sites::read_file(const std::string& root, const std::string& file) {
  std::ifstream in(root + "/" + file);
  std::string text;
  Functions functions;
  for (int line = 1; std::getline(in, text); ++line) {
    const std::string& function = functions.at(text);
    if (!asks_for_order(text)) continue;
    text.erase(0, text.find_first_not_of(' '));
    sites_.push_back({file, line, function, text});
  }
}

std::string Sites::name(std::size_t site) const {
  return sites_[site].file + ":" + std::to_string(sites_[site].line);
}

int Sites::find(Place place) const {
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
