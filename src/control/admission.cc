#include "src/control/admission.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "shm/home.h"
#include "src/control/identity.h"

namespace beeline::control {
namespace {

// One link for each agent that may live, and half as many again for links that the dead left
// unread. A new life of the reader has a row for each and is told of all at once.
constexpr std::size_t kMaxLinksToAgent = shm::kMaxAgents + shm::kMaxAgents / 2;
static_assert(kMaxLinksToAgent < shm::kMaxRows);

constexpr std::size_t kMaxPlaces = shm::kMaxAgents - 1;  // one is the coordinator's
constexpr std::size_t kMostReturning =
    64;  // hand-overs at one time, with descriptors for both lives
constexpr std::size_t kPart = 16;

constexpr std::string_view kMakeRoom =
    "forget agents that are away for good (`beeline tree` shows them, `beeline forget NAME`), or "
    "end some";

struct Asked {
  uid_t user = 0;
  std::string_view of;  // the resource, as people call it
  std::size_t held = 0;
  std::size_t count = 0;
  std::string todo;
};

Result<void> admit(const Stock& stock, const Asked& asked, Claim claim) {
  const std::size_t share = share_of(stock, asked.held, claim);
  if (asked.held + asked.count <= share) return {};
  if (claim == Claim::kOther) {
    return fail(ErrorCode::kFull,
                fmt::format("uid {} holds {} {}, its share is {} now (all users hold {}, the limit "
                            "is {}), it needs {} more: {}",
                            asked.user, asked.held, asked.of, share, stock.used, stock.total,
                            asked.count, asked.todo));
  }
  const std::size_t limit = stock.total - std::min(stock.total, stock.for_returning);
  return fail(ErrorCode::kFull,
              fmt::format("the hive has {} {}, the limit for new ones is {} "
                          "(uid {} holds {} of them): {}",
                          stock.used, asked.of, limit, asked.user, asked.held, asked.todo));
}

std::string raise_the_limit() {
  return fmt::format(
      "{}, or raise the hard limit of open files, {} here (ulimit -Hn, LimitNOFILE= of a service), "
      "and start the hive again",
      kMakeRoom, descriptor_limit());
}

// Descriptors kept back for the next lives of agents: during a hand-over both lives hold theirs.
std::size_t room_to_return() {
  return std::min(room_for_all() / kPart, kMostReturning * kFdsOfAgent);
}

// The descriptors that the keeper holds, or will hold as soon as starting agents have provided
// theirs.
std::size_t descriptors_used(Hive& hive) {
  return std::max(hive.keeper.held(), hive.registry.shares().used(Resource::kDescriptors));
}

Asked descriptor_of_link(Hive& hive, const Agent& owner) {
  return {owner.uid, "file descriptors of agents and links",
          hive.registry.shares().held(owner.uid, Resource::kDescriptors), 1, raise_the_limit()};
}

}  // namespace

Claim claim_of(uid_t user) { return is_trusted(user) ? Claim::kOwner : Claim::kOther; }

Result<void> admit_agent(Hive& hive, uid_t user, bool temporary) {
  const Shares& shares = hive.registry.shares();
  const Claim claim = claim_of(user);
  Stock places;
  places.total = kMaxPlaces;
  places.for_owner = kMaxPlaces / kPart;
  places.used = shares.used(Resource::kPlaces);
  const Asked place{user, "places of agents", shares.held(user, Resource::kPlaces), 1,
                    fmt::format("{}, or start another hive", kMakeRoom)};
  if (auto admitted = admit(places, place, claim); !admitted) return admitted;

  Stock descriptors;
  descriptors.total = room_for_all();
  descriptors.for_owner = descriptors.total / kPart;
  descriptors.for_returning = temporary ? room_to_return() : 2 * room_to_return();
  descriptors.used = descriptors_used(hive);
  const Asked fds{user, "file descriptors of agents and links",
                  shares.held(user, Resource::kDescriptors), kFdsOfAgent, raise_the_limit()};
  return admit(descriptors, fds, claim);
}

Result<void> admit_link(Hive& hive, const Agent& owner, Pid reader) {
  const Claim claim = claim_of(owner.uid);
  Stock to_reader;
  to_reader.total = kMaxLinksToAgent;
  to_reader.for_owner = kMaxLinksToAgent / kPart;
  to_reader.used = hive.registry.count_to(reader);
  const std::string name = in_quotes(hive.tree.find(reader)->name);
  const std::string of = fmt::format("links to {} (PID {}) that wait to be read", name, reader);
  const Asked unread{owner.uid, of, hive.registry.count_to(reader, owner.uid), 1,
                     fmt::format("let {} run and receive, or send from agents that stay", name)};
  if (auto admitted = admit(to_reader, unread, claim); !admitted) return admitted;

  // Links leave a part to the agents that come to read them, and agents leave some to links.
  Stock descriptors;
  descriptors.total = room_for_links();
  if (hive.registry.link_count() < room_for_all() / 8) {
    descriptors.total = room_for_all();
    descriptors.for_returning = room_to_return();
  }
  descriptors.for_owner = descriptors.total / kPart;
  descriptors.used = descriptors_used(hive);
  return admit(descriptors, descriptor_of_link(hive, owner), claim);
}

Result<void> admit_answer(Hive& hive, const Agent& owner) {
  Stock descriptors;
  descriptors.total = room_for_all();
  descriptors.for_returning = room_to_return();
  descriptors.used = descriptors_used(hive);
  return admit(descriptors, descriptor_of_link(hive, owner), Claim::kOwner);
}

}  // namespace beeline::control
