#pragma once
// The program that `beeline-bench spawn` starts again and again: it attaches to the hive, and waits
// for its end. It is a hidden mode of beeline-bench, so that it lies wherever that lies.

#include <string>
#include <vector>

namespace beeline::bench {

// The descriptor on which a raw child says one of these bytes.
inline constexpr int kChildFd = 3;
inline constexpr char kChildAttached = 'a';
inline constexpr char kChildFailed = 'n';

// The command of a child for the steward: the child attaches with its ticket.
[[nodiscard]] std::vector<std::string> child_command();
// The command of a child without the steward: the child attaches under this name, and says so.
[[nodiscard]] std::vector<std::string> raw_child_command(const std::string& name,
                                                         const std::string& parent);

[[nodiscard]] bool is_child(int argc, const char* const* argv);
// Returns the exit status of a child. REQUIRES: is_child().
[[nodiscard]] int play_child(int argc, const char* const* argv);

}  // namespace beeline::bench
