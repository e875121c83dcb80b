// Leftovers of an agent that has ended for good, as the coordinator takes them over: its home, the
// links of its senders, and its receipts, written by a hostile agent and by a hostile sender. The
// coordinator ends, and its sender can have sent every letter. If the home was not touched, all
// letters of an honest sender are there.

#include "tests/fuzz/target.h"
#include "tests/support/dead_agent.h"

namespace beeline::fuzz {
namespace {

using test::DeadAgent;
using Sender = DeadAgent::Sender;

constexpr std::uint32_t kHonestBefore = 4;  // sent while it lived
constexpr std::uint32_t kHonestAfter = 2;   // lies in its lane when it ends

// The places that the input writes to; bits of its first byte.
enum Place : unsigned { kHome = 1, kLanes = 2, kReceipts = 4, kSlabs = 8, kAnywhere = 16 };

std::span<std::byte> bytes_of(const send::OutLink& link) {
  return {link.memory().data(), link.memory().size()};
}

void write(Feed& feed, unsigned where, DeadAgent& agent, Sender& hostile) {
  const shm::LinkLayout layout(DeadAgent::kContract);
  if ((where & kHome) != 0) {
    const shm::HomeLayout home(shm::kMinInboxCapacity);
    const std::span<std::byte> bytes = agent.home_bytes();
    scribble(feed, bytes.subspan(home.control, sizeof(shm::HomeControl)), 2);
    scribble(feed, bytes.subspan(home.rows, 2 * sizeof(shm::InRow)), 4);
    scribble(feed, bytes.subspan(home.entries, shm::kMinInboxCapacity * sizeof(shm::Entry)), 8);
  }
  const std::span<std::byte> link = bytes_of(*hostile.own);
  if ((where & kLanes) != 0) {
    scribble(feed, link.subspan(layout.normal, layout.first_extent - layout.normal), 12);
    scribble(feed, link.subspan(layout.urgent, layout.normal - layout.urgent), 4);
  }
  if ((where & kReceipts) != 0) {
    scribble(feed,
             bytes_of(*hostile.back).subspan(layout.banks, shm::kBanks * sizeof(shm::ReceiptBank)),
             4);
    FUZZ_DEMAND(hostile.back->memory().allocate(layout.stamps, shm::LinkLayout::kStampsBytes));
    scribble(feed, bytes_of(*hostile.back).subspan(layout.stamps, 64), 4);
  }
  const shm::Link& lanes = hostile.own->view();
  if ((where & kSlabs) != 0 && lanes.window(0) != nullptr) {
    scribble(feed, {lanes.slab(shm::SlabIndex(0)), 1024}, 2);
  }
  if ((where & kAnywhere) != 0) scribble(feed, link.first(layout.first_extent), 8);
}

void demand_possible(const control::DeadLetter& letter, const Sender& honest, const Sender& hostile,
                     control::Pid agent) {
  FUZZ_DEMAND(letter.from == honest.caller.pid || letter.from == hostile.caller.pid);
  FUZZ_DEMAND(shm::pid_of_message(letter.header.id) == letter.from);
  FUZZ_DEMAND(letter.to == agent && letter.to_name == "victim");
  FUZZ_DEMAND(letter.type.size() <= shm::kMaxStringLength);
  FUZZ_DEMAND(letter.channel.size() <= shm::kMaxStringLength);
  FUZZ_DEMAND(letter.reason != shm::DeadReason::kNone && letter.reason <= shm::kLastReason);
  FUZZ_DEMAND(letter.payload.size() <= control::kMaxLetterPayload);
  FUZZ_DEMAND(letter.payload.size() <= letter.header.length);
  const bool in_slot = (letter.header.flags & shm::kFlagSlab) == 0;
  FUZZ_DEMAND(!in_slot || letter.payload.size() <= shm::kInlineBytes);
}

BEELINE_FUZZ_TARGET(takeover) {
  Feed feed(input);
  const unsigned where = feed.take<std::uint8_t>();
  std::optional<DeadAgent> agent;
  Sender* hostile = nullptr;
  Sender* honest = nullptr;
  try {
    agent.emplace();
    hostile = &agent->join("hostile");
    honest = &agent->join("honest");
  } catch (const std::runtime_error& missing) {  // a lack of the machine is no finding
    std::fprintf(stderr, "fuzz: %s\n", missing.what());
    std::_Exit(77);
  }
  // One message that it handles, one that it has finished, one that it has rejected; the others
  // wait.
  for (std::uint32_t i = 0; i < kHonestBefore; ++i) DeadAgent::say(*honest, "from the honest one");
  for (const char filling : {'a', 'b', 'c'}) DeadAgent::say_large(*hostile, 500, filling);
  DeadAgent::say(*hostile, "urgent", shm::Lane::kUrgent);
  receive::Receiver& inbox = agent->inbox();
  inbox.drain_all();
  std::uint32_t honest_done = 0;
  for (int i = 0; i < 4; ++i) {
    const shm::EntryIndex at = inbox.take();
    FUZZ_DEMAND(at != shm::kNoEntry);
    const bool is_honest = shm::pid_of_message(inbox.entry(at).header.id) == honest->caller.pid;
    if (i % 2 == 0) {
      inbox.done(at);
      honest_done += is_honest ? 1 : 0;
    } else if (i == 3) {
      inbox.bury(at, shm::DeadReason::kRejected);
    }
  }
  for (std::uint32_t i = 0; i < kHonestAfter; ++i) DeadAgent::say(*honest, "not taken any more");
  DeadAgent::say_large(*hostile, 300, 'd');
  DeadAgent::say(*hostile, "more", shm::Lane::kUrgent);
  write(feed, where, *agent, *hostile);

  agent->die();
  FUZZ_DEMAND(agent->take_over());
  FUZZ_DEMAND(agent->hive().takeovers.empty());
  FUZZ_DEMAND(agent->hive().registry.agent(agent->self().pid)->taken_over);
  FUZZ_DEMAND(agent->world().life_of(honest->caller) != nullptr);
  std::uint32_t honest_letters = 0;
  for (const control::DeadLetter& letter : agent->letters()) {
    demand_possible(letter, *honest, *hostile, agent->self().pid);
    if (letter.from == honest->caller.pid) ++honest_letters;
  }
  if ((where & kHome) != 0) return;
  FUZZ_DEMAND(honest_letters == kHonestBefore + kHonestAfter - honest_done);
}

}  // namespace
}  // namespace beeline::fuzz
