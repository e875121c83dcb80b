#pragma once

// Opening and fading of links, as docs/architecture.md orders it: the keeper has the descriptor,
// then the reader is told, then the requester is answered. All functions answer their caller
// themselves when they succeed; an error is answered by operations.cc.

#include <cstdint>
#include <vector>

#include <beeline/result.h>

#include "src/control/hive.h"

namespace beeline::control {

/// Errors: kNoAgent, kPeerDead, kDenied, kNoRoute (text of the routing rule), kInvalid, kTooBig,
/// kBadSegment, kFull.
[[nodiscard]] Result<void> open_link(Hive& hive, const Caller& caller, std::uint64_t seq,
                                     const OpenRequest& request, std::vector<os::UniqueFd> fds);

/// Always succeeds: a link that is not known has faded before.
void fade_link(Hive& hive, const Caller& caller, const FadeRequest& request);

/// Announces a link to its reader once more, or says that there is none any more.
void tell_link(Hive& hive, const Caller& caller, const TellRequest& request);

/// Tells readers that they may forget the links that they have asked for, unless the keeper has yet
/// to hear of it: a new coordinator would announce such a link as one that its reader has never
/// seen.
void tell_fades(Hive& hive);

/// The reader of a link has found in it what cannot be. Its owner is named in the log and told; to
/// all lives of the reader only the receipts of the link count from now on. Whoever does not read
/// the link is refused, in the log.
void end_link(Hive& hive, const Caller& caller, const ReportRequest& request);

/// A life that owned links has ended: those that their readers have not taken in go with it, or
/// wait for its successor alone.
void let_go_of_refused(Hive& hive, Pid owner, std::uint64_t incarnation);

/// A page of the in-links of an agent that it may not forget yet, or of all that it has not; none
/// of a pid that nobody has.
[[nodiscard]] LinksAnswer list_in_links(Hive& hive, const LinksRequest& request);

/// How many in-links announce_in_links() will announce.
[[nodiscard]] std::uint32_t count_in_links(Hive& hive, const Agent& agent, const Life& life);

/// Tells a life of every in-link that has not faded and that it has not refused; in a hand-over
/// each comes with the predecessor's own link to that peer.
void announce_in_links(Hive& hive, Agent& agent, const Life& life);

/// True while a hand-over, or the take-over of its owner, needs this link, faded or not, for its
/// receipts.
[[nodiscard]] bool needed_as_mine(Hive& hive, const LinkEntry& link);

/// Drops the links of an agent that was taken over that nobody is left to read, and those to it,
/// but for those of its readers: until they have let go of what it sent, what they had finished of
/// that is said there alone, for their next life or for their own take-over.
void drop_needless_links(Hive& hive, Pid dead);

/// Drops the faded links of a life that no hand-over needs any more.
void drop_faded_links(Hive& hive, Pid pid, std::uint64_t incarnation);

}  // namespace beeline::control
