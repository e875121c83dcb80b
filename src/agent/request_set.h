#pragma once
// Several requests at once: all are sent, then all answers are waited for, until one deadline.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/agent/deadlines.h"
#include "src/agent/letterhead.h"
#include "src/agent/peer_links.h"
#include "src/agent/question.h"

namespace beeline {

class Leases;
class Names;
class Questions;
class Sender;
class Sleeper;

class RequestSet {
 public:
  struct Needs {
    OwnLife& life;
    PeerLinks& links;
    Names& names;
    Sender& sender;
    Leases& leases;
    Questions& questions;
    Sleeper& sleeper;
  };
  RequestSet(const Needs& needs, Deadline deadline) : with_(needs), deadline_(deadline) {}

  // One result for each request, in their order: the entry of the answer, leased. `mark`, unless
  // empty, is called with each question before it is sent.
  [[nodiscard]] std::vector<Result<shm::EntryIndex>> run(std::span<const Request> requests,
                                                         const Marking& mark);

 private:
  // A request on its way.
  struct Pending {
    Pending(Peer to, Deadline deadline, const Request& request, const shm::Entry* handled)
        : question(to, deadline), head(request.options, handled), payload(request.payload) {
      head.make_question();
    }
    Question question;
    Letterhead head;
    Payload payload;
    SendResult sent{SendStatus::kFull};  // not yet
    std::optional<Error> error;          // it was not sent, and will not be
  };

  [[nodiscard]] std::unique_ptr<Pending> start(const Request& request, const Marking& mark);
  // Tries those that were not sent yet. True when some are left.
  bool send_rest();
  void send(Pending& pending);
  void want_space(bool wanted);
  [[nodiscard]] bool is_over();
  void await();
  [[nodiscard]] bool has_progress() const;
  void tell_progress();
  [[nodiscard]] Deadline next_deadline() const;
  [[nodiscard]] Result<shm::EntryIndex> conclude(Pending& pending);

  Needs with_;
  Deadline deadline_;
  std::vector<std::unique_ptr<Pending>> all_;
  std::vector<Pending*> unsent_;  // they find no room yet
  std::size_t settled_ = 0;       // so many of all, from the front
};

}  // namespace beeline
