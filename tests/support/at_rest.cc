#include "tests/support/at_rest.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace beeline::test {

bool is_at_rest(pid_t process) {
  std::ifstream file(std::filesystem::path("/proc") / std::to_string(process) / "stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  const std::size_t state = line.rfind(") ") + 2;  // the last one, because the name may hold
                                                   // anything
  return line.at(state) == 'S';
}

}  // namespace beeline::test
