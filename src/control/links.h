#pragma once

// Opening and fading of links, in the order of docs/architecture.md: the keeper has the descriptor,
// then the reader is told, then the requester is answered. All functions answer their caller
// themselves when they succeed; operations.cc answers an error.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

// Errors: kNoAgent, kPeerDead, kDenied, kNoRoute (text of the routing rule), kInvalid, kTooBig,
// kBadSegment, kFull.
[[nodiscard]] Result<void> open_link(Hive& hive, const Caller& caller, std::uint64_t seq,
                                     const OpenRequest& request, std::vector<os::UniqueFd> fds);

// Always succeeds: a link that is not known has faded before.
void fade_link(Hive& hive, const Caller& caller, const FadeRequest& request);

// Announces a link to its reader once more, or says that it has faded.
void tell_link(Hive& hive, const Caller& caller, const TellRequest& request);

// Tells readers that they may forget the links that they have asked for. Waits while the keeper
// has not heard of it: a new coordinator would announce such a link as one that its reader has
// never seen.
void tell_fades(Hive& hive);

// Ends a link: its reader has found impossible contents in it. The owner is told and named in the
// log; from now on all lives of the reader use only the receipts of the link. A report by any
// other agent is refused, in the log.
void end_link(Hive& hive, const Caller& caller, const ReportRequest& request);

// A life that owned links has ended: drops those that their readers have not accepted, or keeps
// them for its successor alone.
void let_go_of_refused(Hive& hive, Pid owner, shm::Incarnation incarnation);

// A page of the in-links that an agent may not forget yet or, on request, also of those that it
// may forget but still has; empty for an unknown pid.
[[nodiscard]] LinksAnswer list_in_links(Hive& hive, const LinksRequest& request);

// How many in-links announce_in_links() will announce.
[[nodiscard]] std::uint32_t count_in_links(Hive& hive, const Agent& agent, const Life& life);

// Tells a life of every in-link that has not faded and that it has not refused. In a hand-over
// each comes with the predecessor's own link to that peer.
void announce_in_links(Hive& hive, Agent& agent, const Life& life);

// True while a hand-over, or the take-over of its owner, needs the receipts of this link, faded or
// not.
[[nodiscard]] bool needed_as_mine(Hive& hive, const LinkEntry& link);

// True if the reader's current process has refused the link: it will not ask to forget it.
[[nodiscard]] bool is_refused(Hive& hive, const LinkEntry& link);

// Drops the links of an agent that was taken over if no reader is left for them, and the links to
// it. Links from its readers stay until those have forgotten the agent's links: only there is
// written which of its messages they had finished, for their next life or for their own take-over.
void drop_needless_links(Hive& hive, Pid dead);

// Drops the faded links of a life that no hand-over needs any more.
void drop_faded_links(Hive& hive, Pid pid, shm::Incarnation incarnation);

}  // namespace beeline::control
