#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <beeline/message.h>
#include <beeline/payload.h>
#include <beeline/registry.h>
#include <beeline/result.h>
#include <beeline/to.h>
#include <beeline/types.h>

namespace beeline {

class AgentCore;

/// The report of EventLoop::poll(). Nothing of it was taken.
struct Readiness {
  std::size_t messages = 0;  ///< wait in the inbox for Agent::try_receive(); some may have expired
  std::size_t tasks = 0;     ///< wait for Tasks::next()
  std::size_t answers = 0;   ///< wait for EventLoop::next_answer()
  std::size_t spaces = 0;    ///< wait for EventLoop::next_space()
  std::size_t peers = 0;     ///< wait for EventLoop::next_peer()
  std::size_t lists = 0;     ///< wait for EventLoop::next_list()
  bool notices = false;      ///< Agent::next_notice() has one
  bool ended = false;        ///< the hive went down, or this life of the agent has ended: see
                             ///< Agent::detach()
  Deadline next{};           ///< call poll() again at the latest then, readable or not
};

/// The answer to EventLoop::request(), or the reason why there is none.
struct Answered {
  MessageId id = 0;  ///< of the request
  Result<Message> answer;
};

/// Names a call of EventLoop that was started, until its result is fetched.
using CallId = std::uint64_t;
/// How many such calls may be open, or have a result that was not fetched.
inline constexpr std::size_t kMostOpenCalls = 1024;

/// The result of EventLoop::find_peer().
struct FoundPeer {
  CallId call = 0;
  Result<Peer> peer;
};

/// The result of EventLoop::list_agents().
struct Listed {
  CallId call = 0;
  Result<std::vector<AgentInfo>> agents;
};

/// An Agent in an event loop of the user's own, around epoll, asyncio or libuv: see Agent::loop().
///
/// The loop waits for Agent::fd(), level or edge triggered, and for other descriptors as it likes.
/// It calls poll() last before each wait and waits until Readiness::next at most. All that poll()
/// reports may stay where it is: an agent that handles as many messages as it wants to leaves the
/// others in its inbox, and is woken for answers all the same. A call of the Agent or of this class
/// between poll() and the wait may take the wake-up; then the loop calls poll() once more.
///
/// From the first poll() on the agent waits for the coordinator only in calls that say so: those of
/// class Agent that are control calls. It opens links that it needs for receipts and copies without
/// a wait. One exception is left: an agent whose coordinator was restarted registers again in one
/// poll() or other call, and that takes as long as the new coordinator needs to answer.
///
/// Belongs to the thread of its Agent and must not outlive it. Cheap to copy.
class EventLoop {
 public:
  /// Looks at the control socket and at the lanes, takes messages into the inbox as far as there is
  /// room, and calls the handlers of answers that have come (Agent::request_then()). Hands nothing
  /// out. From here until the next call of the agent, peers signal the descriptor for everything
  /// new. Everything that was there before is in the report, and makes the descriptor readable no
  /// more.
  Readiness poll();

  /// Sends a request and returns; next_answer() has the answer. For callers that have no use for a
  /// handler, in another language for example. Errors: those of Agent::request_then(). An answer
  /// that was not fetched counts among the kMostOpenQuestions.
  [[nodiscard]] Result<MessageId> request(const To& to, Payload payload, Deadline deadline,
                                          const SendOptions& options = kPlainSend);
  /// The next answer to a request(), in the order in which poll() has found them, or nothing. The
  /// errors in it are those of Agent::request(). From here on the agent handles the answer, as it
  /// handles a message that it has received.
  [[nodiscard]] std::optional<Answered> next_answer();
  /// Gives up a request(): next_answer() will not return it. With SendOptions::cancel_on_timeout
  /// the message is taken back. False: no such request is open, and none has an answer that was not
  /// fetched.
  bool forget(MessageId request);

  /// Finds a peer in two steps: starts as Agent::wait_for() does and returns; next_peer() has the
  /// result. Waits until the deadline for an agent that is not there yet, then for the coordinator
  /// at most AttachOptions::control_timeout. When the coordinator is restarted meanwhile, the agent
  /// asks the next one. Errors, at once: kInvalid (no UTF-8), kNoRoute (no text, or a named queue),
  /// kFull (kMostOpenCalls), kClosed. In the result: those of Agent::wait_for().
  [[nodiscard]] Result<CallId> find_peer(const To& to, Deadline deadline = Deadline::min());
  [[nodiscard]] std::optional<FoundPeer> next_peer();
  /// Lists all agents of the hive in two steps, by pid; next_list() has the result. The fields of
  /// each say who is a child or a sibling, and find_agent() finds one by its name. Errors, at once:
  /// kFull, kClosed. In the result: those of Agent::children().
  [[nodiscard]] Result<CallId> list_agents();
  [[nodiscard]] std::optional<Listed> next_list();
  /// Gives up a find_peer() or a list_agents(). A link that was opened meanwhile stays open. False:
  /// there is no such call, or its result was fetched.
  bool forget_call(CallId call);

  /// After a send that found no room (kFull, kRateLimited): asks to be woken when another try may
  /// find some, because the peer has taken something since, for example. poll() says so once, and
  /// next_space() names the peer; the wish ends with that, or with `wanted` = false. A peer that
  /// has died meanwhile is named too: the next send says so. kInvalid: an empty
  /// Peer.
  Result<void> want_space(Peer peer, bool wanted);
  /// The next peer of a wish that has come true, or nothing.
  [[nodiscard]] std::optional<Peer> next_space();

  /// Agent::detach() in two steps: starts it and returns. The agent goes on until its receivers
  /// have taken everything, or until the deadline; then it sends and receives nothing more, and
  /// poll() says `ended` once the coordinator has answered, or has not within
  /// AttachOptions::control_timeout. If the coordinator is restarted in this moment, the
  /// farewell waits for it as detach() does.
  void start_detach(Deadline drain_until = Deadline::min());
  /// The result of detach(), once poll() has said `ended` after start_detach().
  [[nodiscard]] std::optional<std::uint64_t> left_behind() const;

 private:
  friend class Agent;
  explicit EventLoop(AgentCore* core) : core_(core) {}
  AgentCore* core_;
};

}  // namespace beeline
