#pragma once
// The eventfds that wake an agent: its own, and one for each life of a peer of another user.
//
// A process that holds an eventfd can take the rings of all others out of it. So the agent's own
// eventfd goes only to processes that may trace this process anyway (peers of the same user, the
// user of the hive, root). Every other peer gets one that the coordinator has made for this pair,
// so it can steal only its own rings. All eventfds lie in one joint descriptor.

#include <cstdint>
#include <map>
#include <vector>

#include <beeline/result.h>

#include "shm/ids.h"
#include "src/os/fd.h"

namespace beeline::wake {

class BellSet {
 public:
  // Errors: kSystem (EMFILE).
  [[nodiscard]] static Result<BellSet> create();
  BellSet() = default;

  // The own eventfd, -1 in an empty set.
  [[nodiscard]] int own() const { return own_.get(); }
  // Becomes readable when any peer rings, also a peer that is added later. A user may wait on it
  // outside of the library.
  [[nodiscard]] int joint() const { return joint_.get(); }
  // The descriptor for a wait that begins now.
  [[nodiscard]] int fd() const {
    return has_foreign() || !guests_.empty() ? joint_.get() : own_.get();
  }
  // True if peers of other users can ring us. They know our status page, so no futex of ours is
  // safe.
  [[nodiscard]] bool has_foreign() const { return !foreign_.empty(); }

  // Adds the eventfd of a life of a peer of another user. Does nothing if that life is known.
  void add(shm::Incarnation incarnation, os::UniqueFd event);
  // Adds to the joint each eventfd that could not be added for lack of memory. False while one is
  // left: that peer's rings are not heard.
  bool complete();
  // Closes the eventfd of a life.
  void forget(shm::Incarnation incarnation);
  // Watches another descriptor too, a timer for example, which is not owned. drain() reads it if a
  // peer of another user has a bell. Errors: kSystem.
  [[nodiscard]] Result<void> watch(int fd);
  // Watches another descriptor during one wait; the wait ends when it is readable. Reads nothing
  // from it.
  [[nodiscard]] Result<void> invite(int fd);
  void dismiss(int fd);

  void signal_self() const;
  // Takes the rings out of the eventfds. If there are eventfds of other users, it also reads each
  // watch()ed descriptor that is readable.
  void drain() const;

 private:
  struct Foreign {
    os::UniqueFd event;
    bool joined = false;
  };
  void join(Foreign& foreign);
  void leave(const Foreign& foreign) const;

  os::UniqueFd own_;
  os::UniqueFd joint_;
  std::map<shm::Incarnation, Foreign> foreign_;
  std::vector<int> guests_;
  bool complete_ = true;
};

}  // namespace beeline::wake
