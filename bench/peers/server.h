#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::bench::peers {

// A peer's server, in a temporary directory of its own.
//
// A guard ends the server and removes the directory as soon as we close it or end in any way. The
// guard is a child of ours that no signal of the terminal reaches. For single-threaded programs
// only.
class Server {
 public:
  // The words that start it, once its directory exists; it may write files into that.
  using Command = std::function<std::vector<std::string>(const std::string& place)>;

  // Starts it and waits until its output contains `ready`. Errors: kInvalid (the program is not
  // installed), kSystem (it ended, with the end of its output), kTimeout.
  [[nodiscard]] static Result<Server> start(const std::string& program, const Command& command,
                                            std::string_view ready);
  Server(Server&& other) noexcept;
  Server& operator=(Server&&) = delete;
  ~Server();

  [[nodiscard]] const std::string& place() const { return place_; }
  // Its output until it was ready.
  [[nodiscard]] const std::string& output() const { return output_; }

  // The word behind `text` in that output, up to a comma, a blank or the end of the line; empty if
  // the text is missing.
  [[nodiscard]] std::string word_behind(std::string_view text) const;

  // The address for clients, and the version; the peer sets both.
  std::string address;
  std::string version;

 private:
  Server() = default;

  std::string place_;
  std::string output_;
  os::UniqueFd control_;  // closing it wakes the guard
  pid_t guard_ = 0;
};

}  // namespace beeline::bench::peers
