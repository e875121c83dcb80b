#pragma once

// From attach to detach: how a process becomes an agent, takes over from its predecessor, commits,
// registers again, and leaves. All functions answer their caller themselves when they succeed;
// operations.cc answers an error.

#include <cstdint>
#include <memory>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Errors: kWrongVersion, kInvalid (name, attached already), kDenied (role, identity), kNoAgent and
// kPeerDead (parent), kAlreadyRunning (the name lives), kFull.
[[nodiscard]] Result<void> attach(Hive& hive, Caller& caller, std::uint64_t seq,
                                  const AttachRequest& wanted, std::vector<os::UniqueFd> fds);

// Errors: kBadSegment, kWrongVersion, kProtocol (no eventfd), kInvalid.
[[nodiscard]] Result<void> provide(Hive& hive, const Caller& caller, std::uint64_t seq,
                                   const ProvideRequest& request, std::vector<os::UniqueFd> fds);

// The commit. Errors: kInvalid (nothing was provided).
[[nodiscard]] Result<void> ready(Hive& hive, const Caller& caller, std::uint64_t seq);

// Remembers the name that an agent waits for, and tells it at once if an agent has that name.
// Errors: kInvalid, kNoRoute (no name), kPeerDead.
[[nodiscard]] Result<void> await_name(Hive& hive, const Caller& caller,
                                      const AwaitRequest& request);

[[nodiscard]] Result<void> detach(Hive& hive, const Caller& caller, std::uint64_t seq,
                                  const DetachRequest& request);

// Registers an agent again. Errors: kPeerDead (this life was ended), kDenied (another process),
// and those of provide(). In resume.cc.
[[nodiscard]] Result<void> resume(Hive& hive, Caller& caller, std::uint64_t seq,
                                  const ResumeRequest& request, std::vector<os::UniqueFd> fds);

// Checks home, status page and eventfd and hands them to the keeper. Errors as provide().
[[nodiscard]] Result<void> take_segments(Hive& hive, const Agent& agent, Life& life,
                                         std::vector<os::UniqueFd> fds);

// Makes a life the agent's successor: its process is watched, and the directory shows both. The
// keeper knows the life already.
void publish_life(Hive& hive, Agent& agent, std::unique_ptr<Life> life);

// Makes the successor the life that counts: the keeper records that its home is complete, then the
// directory names it, then all peers are rung. REQUIRES: a successor that has provided.
[[nodiscard]] Result<void> commit(Hive& hive, Agent& agent);

}  // namespace beeline::control
