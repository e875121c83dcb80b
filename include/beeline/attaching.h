#pragma once

#include <memory>
#include <utility>

#include <beeline/agent.h>

namespace beeline {

/// Agent::attach() in two steps, for a loop that waits nowhere else: start() returns at once, fd()
/// becomes readable once the agent is attached or cannot be, and finish() gives it.
///
/// The steps of an attach need the answers of the coordinator, which may have to be started first,
/// and the memory of a predecessor. A helper thread takes them, with all signals blocked, and ends
/// then. Nothing of an agent is bound to that thread: the agent belongs to the thread that calls
/// finish(). A process that ends meanwhile ends the attach, as a kill would.
class Attaching {
 public:
  /// Errors: kSystem (no thread or no descriptor). All others are those of finish().
  [[nodiscard]] static Result<Attaching> start(const AttachOptions& options);

  Attaching(Attaching&&) noexcept = default;
  Attaching& operator=(Attaching&&) noexcept = default;
  /// Does not wait. An agent that is attached later leaves the hive at once.
  ~Attaching() = default;

  /// Readable once finish() does not wait; -1 after it was moved from. Owned by this object.
  [[nodiscard]] int fd() const;
  /// The agent, or the error of Agent::attach(). Waits where fd() is not readable yet. kInvalid: it
  /// was called before.
  [[nodiscard]] Result<Agent> finish();

 private:
  struct Shared;
  explicit Attaching(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace beeline
