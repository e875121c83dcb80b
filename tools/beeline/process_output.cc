// log --output: the output of a child, from the file that the steward keeps.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/error.h"
#include "src/os/event_fd.h"
#include "src/os/fd.h"
#include "tools/beeline/output.h"
#include "tools/beeline/process_verbs.h"
#include "tools/beeline/session.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenOutputs{20};
constexpr std::chrono::milliseconds kBetweenLists{500};
constexpr std::size_t kChunkBytes = 65'536;

// The newest child of that name or pid.
Result<ChildInfo> find_child(Agent& agent, const std::string& name) {
  auto children = agent.processes().list(true);
  if (!children) return tl::unexpected(std::move(children.error()));
  ChildInfo* newest = nullptr;
  for (ChildInfo& child : *children) {
    if (child.name != name && std::to_string(child.pid) != name) continue;
    if (newest == nullptr || child.pid > newest->pid) newest = &child;
  }
  if (newest != nullptr) return std::move(*newest);
  return fail(ErrorCode::kNoAgent,
              fmt::format("the steward keeps no output of \"{}\": it keeps that of agents which "
                          "were spawned; `beeline ps` lists them",
                          name));
}

// Reads a file that grows at its end and is given back at its front.
class OutputReader {
 public:
  explicit OutputReader(os::UniqueFd file) : file_(std::move(file)) {}

  // The next bytes; empty: there are none now. Errors: kSystem.
  Result<std::string> next() {
    struct stat facts {};
    if (::fstat(file_.get(), &facts) != 0) return os::system_failure("cannot look at the output");
    if (facts.st_size < at_) at_ = 0;  // all of it was given back
    if (facts.st_size == at_) return std::string();
    const off_t data = ::lseek(file_.get(), at_, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return std::string();
    if (data > at_) at_ = data;
    std::string bytes(kChunkBytes, '\0');
    const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), at_);
    if (count < 0) return os::system_failure("cannot read the output");
    at_ += count;
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  }

 private:
  os::UniqueFd file_;
  off_t at_ = 0;
};

class OutputPrinter {
 public:
  OutputPrinter(const Context& context, OutputReader reader)
      : context_(context), reader_(std::move(reader)) {}

  // Prints all that is there now. False: no more can be printed, and exit() says why.
  bool print_all() {
    for (;;) {
      auto bytes = reader_.next();
      if (!bytes) exit_ = complain(bytes.error());
      if (!bytes) return false;
      if (bytes->empty()) return true;
      Json json;
      if (context_.json) set_text(json, "output", *bytes);
      if (!(context_.json ? print_json(json) : print(*bytes))) exit_ = ExitCode::kError;
      if (exit_ != ExitCode::kOk) return false;
    }
  }
  [[nodiscard]] ExitCode exit() const { return exit_; }

 private:
  const Context& context_;
  OutputReader reader_;
  ExitCode exit_ = ExitCode::kOk;
};

ExitCode follow(const Context& context, Agent& agent, const ChildInfo& child,
                OutputPrinter& printer) {
  auto signals = Signals::block({SIGINT, SIGTERM});
  if (!signals) return complain(signals.error());
  const Deadline end = context.timeout ? after(*context.timeout) : Deadline::max();
  bool has_ended = child.state == "ended";
  auto next_list = steady_clock::now() + kBetweenLists;
  for (;;) {
    if (!printer.print_all() || has_ended) return printer.exit();
    if (os::wait_readable(signals->fd(), kBetweenOutputs)) return ExitCode::kOk;
    const auto now = steady_clock::now();
    if (now >= end) return ExitCode::kOk;
    if (now < next_list) continue;
    const auto found = find_child(agent, std::to_string(child.pid));
    if (!found && found.error().code != ErrorCode::kNoAgent) return complain(found.error());
    has_ended = !found || found->state == "ended";
    next_list = now + kBetweenLists;
  }
}

}  // namespace

ExitCode print_output(const Context& context, const std::string& name, bool follows) {
  auto agent = attach_asker(context);
  if (!agent) return complain(agent.error());
  const auto child = find_child(*agent, name);
  if (!child) return complain(child.error());
  os::UniqueFd file(::open(child->log.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return complain(os::system_error(fmt::format("cannot open {}", child->log)));
  }
  OutputPrinter printer(context, OutputReader(std::move(file)));
  if (follows) return follow(context, *agent, *child, printer);
  (void)printer.print_all();
  return printer.exit();
}

}  // namespace beeline::cli
