#include "src/agent/inheritance.h"

#include "src/agent/announcements.h"
#include "src/agent/arrivals.h"
#include "src/agent/directory.h"
#include "src/agent/ended.h"
#include "src/agent/link_opener.h"
#include "src/agent/registration.h"
#include "src/agent/reports.h"
#include "src/agent/sleeper.h"
#include "src/os/event_fd.h"
#include "src/os/process.h"

namespace beeline {

Result<void> Inheritance::take_over(control::Attached& attached) {
  auto old =
      receive::OldHome::accept(std::move(attached.home), with_.life.pid(), attached.predecessor);
  if (!old) return tl::unexpected(old.error());
  receive::Predecessor predecessor(std::move(*old), attached.in_links);
  if (auto done = inherit_links(attached.in_links, predecessor); !done) return done;
  if (auto done = receive::inherit_home(with_.receiver, predecessor); !done) return done;
  // Ids continue above all that the predecessor may have used.
  with_.links.make_path(with_.directory.view());
  with_.receiver.home().set_ready();
  auto done = with_.registration.provide(false);
  if (!done) return done;
  for (LinkSlot slot(0); slot < with_.links.end_slot(); ++slot) {
    const auto opened = with_.opener.ask_open(*with_.links.at(slot), false);
    if (!opened && opened.error().code != ErrorCode::kPeerDead &&
        opened.error().code != ErrorCode::kNoAgent) {
      return tl::unexpected(opened.error());
    }
    if (!opened) with_.links.at(slot)->dead = true;
  }
  done = with_.client.ready();
  if (!done) return done;
  // From here on our receipts count: a sender that waited for the predecessor to take something
  // looks again.
  with_.receiver.settle_adopted();
  with_.receiver.ring_all_for_space();
  with_.sleeper.begin_succession();
  return {};
}

// This life takes over all links of which the predecessor holds something, with the last
// descriptors too, because nobody else can read that. Other links wait until this life runs where
// there are not enough descriptors for all.
Result<void> Inheritance::inherit_links(std::uint32_t count, receive::Predecessor& predecessor) {
  constexpr int kMostFds = 6;  // of one link, with our own and the predecessor's to its owner
  const bool is_short = static_cast<std::int64_t>(count) * kMostFds > os::first_own_fd();
  const std::int64_t deadline = os::monotonic_ns() + with_.life.options().control_timeout.count();
  int tries_left = 64;
  while (count > 0) {
    auto next = await_link(deadline);
    if (!next) return tl::unexpected(std::move(next.error()));
    const shm::LinkKey key{next->incarnation, next->serial};
    const bool is_held = predecessor.home.holds(key);
    const bool is_late = with_.arrivals.postponed().has_older(next->pid, key.incarnation);
    if (!is_held && (is_short || is_late || !next->link.valid())) {
      with_.arrivals.postponed().add_shared(next->pid, key);
    } else if (!next->link.valid()) {
      // Others that have come with it are in by now.
      if (tries_left-- == 0 || !with_.client.tell(key.incarnation, key.serial)) {
        return fail(ErrorCode::kSystem,
                    "attach: this process may not open as many files as the life before it had "
                    "for its links; raise the limit (ulimit -n)");
      }
      continue;
    } else if (auto done = inherit_link(*next, predecessor); !done) {
      return done;
    }
    --count;
  }
  return {};
}

Result<control::AnnouncedLink> Inheritance::await_link(std::int64_t deadline_ns) {
  for (;;) {
    auto next = with_.client.try_next();
    if (next && std::holds_alternative<control::AnnouncedLink>(*next)) {
      return std::move(std::get<control::AnnouncedLink>(*next));
    }
    if (next) {
      with_.announcements.handle(std::move(*next));
      continue;
    }
    if (with_.client.closed()) return fail(ErrorCode::kClosed, "attach: the coordinator went away");
    const auto left = std::chrono::nanoseconds(deadline_ns - os::monotonic_ns());
    if (left.count() <= 0 || !os::wait_readable(with_.client.fd(), left)) {
      return fail(ErrorCode::kTimeout,
                  "attach: not all links of the predecessor were announced in time; attach again");
    }
  }
}

Result<void> Inheritance::inherit_link(control::AnnouncedLink& announced,
                                       receive::Predecessor& predecessor) {
  with_.arrivals.learn_owner(announced);
  auto memory = with_.arrivals.map_link(announced);
  if (!memory && !segment::is_lie(memory.error())) return tl::unexpected(memory.error());
  if (!memory) {  // its owner lied about it; nobody can read its messages
    with_.reports.refuse(announced, memory.error().text);
    return {};
  }
  receive::OldReceipts old;
  if (announced.mine) {
    const shm::LinkKey mine{predecessor.home.incarnation(), announced.mine->serial};
    old = {std::move(announced.mine_link), mine, announced.mine->contract};
  }
  auto link = with_.arrivals.make_in_link(std::move(*memory), announced);
  PeerRecord owner(*link);
  with_.arrivals.place_owner(owner, announced.index);
  owner.watch_owner();
  send::OutLink* own = with_.links.out_link(announced.pid);
  // Nobody reads what we would say to the dead.
  if (own == nullptr && !with_.ended.is_finally_dead(owner)) {
    auto made = with_.links.add(announced.pid);
    if (!made) return tl::unexpected(made.error());
    own = *made;
  }
  // One owner may have more lives than there are banks. Lives that have ended need none.
  if (!link->owner_gone()) {
    link->show_receipts_in({&own->view(), &own->memory(), shm::vacant_bank(own->view())});
  }
  auto inherited = receive::inherit_link(with_.receiver, predecessor, std::move(link),
                                         std::move(old), announced.released);
  if (!inherited) return tl::unexpected(inherited.error());
  if (*inherited == nullptr) {
    with_.arrivals.gone().push_back({announced.incarnation, announced.serial});
  } else {
    with_.links.records().add(owner);
    with_.arrivals.join_life(**inherited);
    if ((*inherited)->owner_gone()) with_.ended.end_owner(**inherited);
  }
  return {};
}

}  // namespace beeline
