#pragma once
// The eventfds that wake an agent: its own, and one for each life of a peer of another user.
//
// Whoever holds an eventfd can take the rings of all others out of it. So the own one is handed
// only to those who may trace this process anyway (peers of the same user, the user of the hive,
// root); any other peer gets one that the coordinator has made for the two of us, and can steal
// nothing but its own rings. All of them lie in one joint descriptor.

#include <cstdint>
#include <map>
#include <vector>

#include <beeline/result.h>

#include "src/os/fd.h"

namespace beeline::wake {

class BellSet {
 public:
  // Errors: kSystem (EMFILE).
  [[nodiscard]] static Result<BellSet> create();
  BellSet() = default;

  // The own eventfd, -1 in an empty set.
  [[nodiscard]] int own() const { return own_.get(); }
  // Readable when somebody has rung, whoever is added later: for those who wait outside.
  [[nodiscard]] int joint() const { return joint_.get(); }
  // The same for a wait that begins now.
  [[nodiscard]] int fd() const {
    return has_foreign() || !guests_.empty() ? joint_.get() : own_.get();
  }
  // Peers of other users can ring us, and know our status page: no futex of ours is safe.
  [[nodiscard]] bool has_foreign() const { return !foreign_.empty(); }

  // A life of a peer of another user rings with this. One that is known stays as it is.
  void add(std::uint64_t incarnation, os::UniqueFd event);
  // Puts into the joint what could not be added to it for lack of memory. False while something is
  // left: that peer's rings are not heard.
  bool complete();
  // Closes the eventfd of a life.
  void forget(std::uint64_t incarnation);
  // Watches something else too, which is not owned. Errors: kSystem.
  [[nodiscard]] Result<void> watch(int fd);
  // The same for as long as one wait lasts, which ends when it is readable; nothing is read from
  // it.
  [[nodiscard]] Result<void> invite(int fd);
  void dismiss(int fd);

  void signal_self() const;
  // Takes the rings out of them.
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
  std::map<std::uint64_t, Foreign> foreign_;  // by incarnation
  std::vector<int> guests_;
  bool complete_ = true;
};

}  // namespace beeline::wake
