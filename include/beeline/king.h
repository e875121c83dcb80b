#pragma once

// The part of a hive that only pid 1 may use: reserve agents for processes that it is about to
// start, and hear of every life and death. `beeline-steward` is its user.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <beeline/result.h>
#include <beeline/types.h>

namespace beeline {

/// An agent that is to be started.
struct Reservation {
  Pid pid = 0;  ///< of the agent to start again; 0: make a new one of the fields below
  std::string name{};
  Pid parent = 1;
  std::string role = "worker";
  std::uint32_t uid = 0;  ///< who may attach
};

/// A reserved agent. The process that is to become it finds `ticket` in $BEELINE_TICKET and gives
/// it back when it attaches, once.
struct Ticket {
  Pid pid = 0;
  std::string name{};
  std::string ticket{};
};

/// Something happened to an agent.
struct LifeEvent {
  enum class Kind : std::uint8_t {
    kReady,      ///< it has attached
    kDied,       ///< its process has ended, or it has left; it may come back unless it is dead
    kRemoved,    ///< it is finally dead and forgotten
    kEscalated,  ///< it escalates to pid 1; see `text`
    kEnding,     ///< the hive is about to end: end all processes, then call end()
    kMissed,  ///< the connection was lost and made again: events may be missing, look at the list
  };
  Kind kind = Kind::kReady;
  Pid pid = 0;
  Pid parent = 0;
  std::string name{};
  bool is_dead = false;  ///< with kDied: finally
  std::string text{};    ///< with kEscalated: the first 2,000 bytes
};

/// One connection of pid 1 to the coordinator, beside that of its Agent. One thread. Calls wait for
/// the coordinator, which takes microseconds, at most 10 s. Errors of all calls: kDenied (the
/// secret), kNoCoordinator, kTimeout, kClosed, kSystem.
class King {
 public:
  /// `secret` is the word that the keeper gave to coordinator and steward, $BEELINE_KING.
  [[nodiscard]] static Result<King> open(const std::string& hive, const std::string& secret);

  King(King&&) noexcept;
  King& operator=(King&&) noexcept;
  ~King();

  /// Reserves an agent. It is listed as a zombie until its process attaches; messages to it wait in
  /// its links. A new reservation of the same agent makes the earlier ticket worthless. Errors
  /// also: kNoAgent (the parent, or the pid), kPeerDead, kAlreadyRunning (the agent has a process,
  /// or another living agent has this name), kInvalid (name or role), kFull (the hive).
  [[nodiscard]] Result<Ticket> reserve(const Reservation& wanted);
  /// Ends an agent without a process for good; its messages become dead letters. Errors also:
  /// kNoAgent, kAlreadyRunning.
  [[nodiscard]] Result<void> forget(Pid pid);
  /// The next event, if there is one. Does not wait; connects again where that is needed.
  [[nodiscard]] std::optional<LifeEvent> next();
  /// Readable when next() may have something; changes when a connection was lost, so ask after each
  /// next(). -1: no connection now, call next() again after 100 ms.
  [[nodiscard]] int fd() const;
  /// All processes have ended: lets the hive end.
  [[nodiscard]] Result<void> end();

 private:
  struct Connection;
  explicit King(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace beeline
