#pragma once

// The connections and the event loop. One thread. Every turn does a bounded amount of work: one
// packet of each client that has one, at most 64 in all, users in turn, and one step of a
// take-over. It never blocks on a client. Users share the connections without an agent, descriptors
// that clients have not received yet and packets that they do not take (shares.h).

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"
#include "src/control/lingering.h"
#include "src/control/takeover.h"
#include "src/control/turns.h"
#include "src/os/fd.h"
#include "src/os/packet_socket.h"

namespace beeline::control {

// Most packets that may wait for a client before it is dropped. A new life of the parent of all
// other agents is told at once of a link for each of them.
inline constexpr std::size_t kMaxQueuedPackets = 2 * shm::kMaxAgents;
inline constexpr std::size_t kMaxQueuedBytes = 4U << 20;
// Most bytes that may wait for all clients together.
inline constexpr std::size_t kMaxQueuedBytesOfAll = 64U << 20;
// Most descriptors that were sent to a client and that it may not have received yet.
inline constexpr std::size_t kMaxSentFds = 256;
// How long a connection may send nothing before its first request, in time in which the
// coordinator listened. A connection without an agent that has sent nothing for as long is dropped
// when its room is needed.
inline constexpr std::int64_t kSilentNs = 10'000'000'000;

class Server final : public Outbox {
 public:
  struct Options {
    bool peer_pidfd = true;  // use SO_PEERPIDFD where the kernel has it
  };

  // `listener` and `keeper` are borrowed for the life of the server. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<Server>> create(os::PacketSocket& listener,
                                                              KeeperClient& keeper, Log& log,
                                                              const Options& options);
  ~Server() override;

  // Serves until the hive has gone down or the keeper is lost. Returns an exit status.
  int run(Hive& hive);

  void send(std::uint64_t session, std::string text, std::vector<SharedFd> fds) override;
  [[nodiscard]] bool send_now(std::uint64_t session, const std::string& text) override;
  void drain(std::uint64_t session) override;
  void release(std::uint64_t session) override;
  void watch(const Life& life, Pid pid) override;
  void unwatch(const Life& life) override;
  [[nodiscard]] std::size_t client_count() const override { return sessions_.size(); }
  [[nodiscard]] std::uint64_t dropped_clients() const override { return dropped_clients_; }

 private:
  static constexpr int kAcceptsPerTurn = 16;
  static constexpr std::size_t kPart = 16;  // one of so many parts is the owner's alone
  static constexpr std::uint32_t kNoPlace = shm::kMaxAgents;
  struct Outgoing {
    std::string text;
    std::vector<SharedFd> fds;
    std::uint32_t place = kNoPlace;  // place of its agent in the directory, for counting packets
  };
  struct Session {
    Caller caller;
    os::PacketSocket socket;
    std::deque<Outgoing> queue;
    std::size_t queued_bytes = 0;
    std::size_t sent_fds = 0;  // since it last had received all
    bool wants_write = false;
    bool has_turn = false;        // it waits in `turns_`
    bool is_counted = false;      // it counts among its user's connections without an agent
    bool has_asked = false;       // it has sent a valid request
    std::int64_t heard_ns = 0;    // when it last sent something, Hive::hearing
    bool owes_deaths = false;     // tell its agent of deaths when there is room
    std::optional<Error> doomed;  // the reason to close it at the end of this turn
  };
  struct KeeperState {
    bool is_behind = false;  // it has not heard all: try again soon
    bool is_lost = false;
    std::int64_t hangs_since_ns = 0;  // since when it takes nothing, or does not end; 0: it works
    bool hang_is_said = false;
  };
  struct Quit {
    std::int64_t at_ns = 0;  // going down: when the server stops waiting for clients
    bool is_said = false;
  };
  enum class Source : std::uint64_t {
    kListener = 1,
    kKeeper,
    kSignal,
    kSession,
    kLife,
    kLingering,
  };
  static constexpr int kIdBits = 56;  // as many as an incarnation has
  static constexpr std::uint64_t tag_of(Source source, std::uint64_t id) {
    return static_cast<std::uint64_t>(source) << kIdBits | id;
  }

  Server(os::PacketSocket& listener, KeeperClient& keeper, Log& log, const Options& options)
      : listener_(listener), keeper_(keeper), log_(log), options_(options) {}

  Result<void> prepare();
  Result<void> add(int fd, Source source, std::uint64_t id, std::uint32_t events);
  void turn(int timeout_ms);
  void handle(std::uint64_t tag, std::uint32_t events);
  // Hears the clients in turn.
  void serve();
  void take_turn(Session& session);

  // The rest of the clients is in server_clients.cc.
  // Accepts clients; true if more of them may wait.
  bool accept_clients();
  // Refuses a client because descriptors are short; true if there was one.
  bool refuse_client();
  void add_client(os::PacketSocket socket);
  // Makes room for one more connection without an agent, if necessary by dropping a silent one.
  // Errors: kFull.
  Result<void> make_room(uid_t user, pid_t process);
  [[nodiscard]] Stock connection_stock() const;
  // Drops connections that have sent nothing since they came. Returns when it wants to be called
  // again, 0 for never.
  std::int64_t drop_silent(std::int64_t now_ns);
  // Counts a connection anew: it has become an agent's, or is none any more.
  void recount(Session& session);
  // Handles one packet; false if none waits or the connection has ended.
  bool read_client(Session& session);
  void flush(Session& session);
  // The place of its agent, which counts the packets due to it.
  [[nodiscard]] std::uint32_t place_of(const Session& session) const;
  void count_due(std::uint32_t place);
  void count_taken(std::uint32_t place);
  // True if this number of descriptors may go to this client now. If not, flush() is called again
  // when they may.
  bool may_send_fds(Session& session, std::size_t count);
  // Its client has received all descriptors; other clients of its user may wait for that.
  void settle_fds(Session& session);
  // The peer of a dropped connection has read something.
  void settle_lingering(std::uint64_t id);
  void flush_held();
  // True if other clients of its user may wait until its client has received more.
  [[nodiscard]] bool holds_others(const Session& session) const {
    return session.sent_fds != 0 && !held_.empty();
  }
  // Drops the client with the most waiting packets if its user has too many.
  void limit_queues(const Session& session);
  // The socket has room again.
  void go_on(Session& session);
  void want_write(Session& session, bool wanted);
  void doom(Session& session, Error reason);
  void close_doomed();
  // Closes its socket, now or when its client has received all descriptors.
  void close(Session& session);
  void end_of_life(shm::Incarnation incarnation);
  void read_keeper();
  // Files were removed and made again: listens on the keeper's new listener, writes to the log
  // file under the old name, and saves the state.
  void follow_files(os::Packet packet);
  void follow_listener(os::UniqueFd fd);
  // Called after each look at the sockets: see Hive::hearing.
  void count_listening();
  // Tells the keeper everything overdue, and then others that had to wait for that.
  void catch_up();
  void go_down();
  [[nodiscard]] bool all_flushed() const;
  [[nodiscard]] int timeout_ms(std::int64_t next_ns, bool busy) const;

  os::PacketSocket& listener_;
  KeeperClient& keeper_;
  Log& log_;
  Options options_;
  Hive* hive_ = nullptr;
  os::UniqueFd epoll_;
  os::UniqueFd signals_;
  os::UniqueFd reserve_;  // given up to accept, and refuse, a client when no descriptor is left
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::map<shm::Incarnation, Pid> watched_;
  std::vector<std::uint64_t> doomed_;
  Lingering lingering_;
  Turns turns_;
  std::deque<std::uint64_t> silent_;  // connections that may have sent nothing since they came
  std::set<std::uint64_t> held_;      // clients waiting until others of their users have received
                                      // descriptors
  bool fds_settled_ = false;          // some of those in held_ may go on
  TakeoverWorker takeover_;
  std::uint64_t next_session_ = 1;
  std::uint64_t dropped_clients_ = 0;
  bool crowded_ = false;  // descriptors in flight hit their limit: try again soon
  bool served_ = false;
  Quit quit_;
  std::int64_t turned_ns_ = 0;  // when it last looked at the sockets
  KeeperState keeper_state_;
};

}  // namespace beeline::control
