#pragma once
// The questions to the coordinator that no call waits for: the peers that are to be found, and the
// lists of agents. Each look takes them a step further.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <beeline/event_loop.h>

#include "src/agent/directory.h"
#include "src/agent/own_life.h"
#include "src/control/client.h"

namespace beeline {

class Announcements;
class LinkOpener;
class Names;

class Errands {
 public:
  struct Needs {
    OwnLife& life;
    const Directory& directory;
    control::Client& client;
    Announcements& announcements;
    LinkOpener& opener;
    Names& names;
  };
  explicit Errands(const Needs& needs) : with_(needs) {}

  [[nodiscard]] Result<CallId> find_peer(const To& to, Deadline deadline);
  [[nodiscard]] Result<CallId> list_agents();
  // Takes all of them as far as it goes now. Reads nothing: a turn was taken before.
  void step();
  // When the next step may go further although nothing is heard.
  [[nodiscard]] Deadline next_step() const;

  [[nodiscard]] std::size_t peers() const { return found_.size(); }
  [[nodiscard]] std::size_t lists() const { return listed_.size(); }
  [[nodiscard]] std::optional<FoundPeer> next_peer();
  [[nodiscard]] std::optional<Listed> next_list();
  // False: there is no such errand, and no result of one.
  bool forget(CallId call);

 private:
  // The pauses between looks for which there is no reason.
  struct Pace {
    std::int64_t pause_ns = 10'000'000;
    std::int64_t next_ns = 0;
    void put_off();
  };
  struct Search {
    CallId call = 0;
    std::string name;  // empty: the peer is meant by its pid
    Pid pid = 0;       // 0: not found yet
    Deadline deadline{};
    std::int64_t give_up_ns = 0;  // on a coordinator that does not answer
    bool asked = false;           // for the link to it
    std::int64_t late_ns = 0;     // that answer does not come after this
    // As they were when the directory was searched last.
    std::uint64_t heard = 0;
    std::uint64_t epoch = 0;
    bool searched = false;
    std::uint64_t asked_heard = 0;  // names heard when the coordinator was asked to tell
    Pace pace;
    std::int64_t retry_ns = 0;  // not opened again before
  };
  struct Query {
    CallId call = 0;
    std::uint64_t seq = 0;  // 0: the next page was not asked for
    std::uint32_t from = 0;
    std::vector<control::ListedAgent> agents;
    std::int64_t give_up_ns = 0;
    Pace pace;
  };

  // Nothing: it goes on.
  [[nodiscard]] std::optional<Result<Peer>> look(Search& search);
  [[nodiscard]] bool find_pid(Search& search);
  [[nodiscard]] std::optional<Result<Peer>> open(Search& search);
  void note_asked(Search& search) const;
  [[nodiscard]] std::optional<Result<Peer>> try_later(Search& search, Error error);
  [[nodiscard]] Error why_denied(Pid pid) const;
  [[nodiscard]] std::optional<Result<std::vector<AgentInfo>>> look(Query& query);
  [[nodiscard]] Result<void> may_start() const;

  Needs with_;
  CallId last_call_ = 0;
  std::vector<Search> searches_;
  std::vector<Query> queries_;
  std::deque<FoundPeer> found_;
  std::deque<Listed> listed_;
};

}  // namespace beeline
