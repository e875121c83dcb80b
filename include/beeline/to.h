#pragma once

#include <concepts>
#include <string_view>

#include <beeline/types.h>

namespace beeline {

/// The receiver of a call: a Peer, the pid of an agent, or a name as Agent::peer() reads it. A Peer
/// costs nothing. A pid or a name is looked up in memory each time, and costs a control call where
/// no link to that agent is open yet. A name means the agent that has it at that moment: after the
/// final death of an agent, the next one of that name. A To refers to the text of a name, so it
/// must not outlive that text.
class To {
 public:
  To(Peer peer) : peer_(peer) {}    // NOLINT(google-explicit-constructor): see above
  To(Pid pid) { peer_.pid = pid; }  // NOLINT(google-explicit-constructor)
  template <std::convertible_to<std::string_view> Text>
  To(const Text& name) : name_(name) {  // NOLINT(google-explicit-constructor)
    if (name_.data() == nullptr) name_ = "";
  }

  [[nodiscard]] bool is_name() const { return name_.data() != nullptr; }
  [[nodiscard]] std::string_view name() const { return name_; }
  /// True if it was made from a Peer, valid or not.
  [[nodiscard]] bool is_peer() const { return !is_name() && (peer_.valid() || peer_.pid == 0); }
  /// Has no slot where only the pid is known.
  [[nodiscard]] Peer peer() const { return peer_; }

 private:
  std::string_view name_{};
  Peer peer_{};
};

}  // namespace beeline
