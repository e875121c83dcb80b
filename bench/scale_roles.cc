#include "bench/scale_roles.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "bench/histogram.h"
#include "bench/rounds.h"
#include "src/os/clock.h"

namespace beeline::bench {
namespace {

constexpr double kRoundTripWarmUp = 0.005;
constexpr std::string_view kTalkOrder = "talk ";  // and the number of members
constexpr std::string_view kWord = "word";
constexpr std::string_view kTalked = "talked";
constexpr std::string_view kLast = "last";

struct RoundTrips {
  std::uint64_t p50_ns = 0;
  std::uint64_t count = 0;
};

// Sends a member a word and waits for it to come back.
Result<void> send_round(Agent& agent, Peer member, std::string_view word, bool polls) {
  if (auto said = say(agent, member, word); !said) return said;
  auto message = next_message(agent, polls);
  if (!message) return tl::unexpected(message.error());
  message->done();
  return {};
}

// Round trips with one member.
Result<RoundTrips> time_round_trips(Agent& agent, Peer member, const Case& what) {
  const auto histogram = std::make_unique<Histogram>();
  const bool polls = what.mode != WaitMode::kSleep;
  Result<void> good;
  if (polls) good = send_round(agent, member, kAwake, polls);
  const auto round = [&](std::uint32_t) {
    good = send_round(agent, member, kEcho, polls);
    return good.has_value();
  };
  if (good) time_rounds(kRoundTripWarmUp, *histogram, round);
  histogram->clear();
  if (good) time_rounds(what.seconds, *histogram, round);
  if (good && polls) good = send_round(agent, member, kAsleep, polls);
  if (!good) return tl::unexpected(good.error());
  return RoundTrips{histogram->percentile(50.0), histogram->count()};
}

Result<void> measure_ends(CrowdPage& page, Agent& agent, const std::vector<Peer>& members,
                          const Case& what) {
  const auto first = time_round_trips(agent, members.front(), what);
  if (!first) return tl::unexpected(first.error());
  const auto last = time_round_trips(agent, members.back(), what);
  if (!last) return tl::unexpected(last.error());
  result_of(page, LeadResult::kFirst) = first->p50_ns;
  result_of(page, LeadResult::kLast) = last->p50_ns;
  result_of(page, LeadResult::kRounds) = std::min(first->count, last->count);
  return {};
}

Result<void> let_talk(CrowdPage& page, Agent& agent, const std::vector<Peer>& members) {
  const std::int64_t start = os::monotonic_ns();
  for (const Peer& member : members) {
    auto said = say(agent, member, fmt::format("{}{}", kTalkOrder, members.size()));
    if (!said) return said;
  }
  for (std::size_t left = members.size(); left > 0;) {
    const auto text = hear_one(agent);
    if (!text) return tl::unexpected(text.error());
    if (*text == kTalked) --left;
  }
  result_of(page, LeadResult::kTalk) = static_cast<std::uint64_t>(os::monotonic_ns() - start);
  return {};
}

Result<void> answer_lives(Agent& agent) {
  for (;;) {
    Pid from = 0;
    const auto text = hear_one(agent, &from);
    if (!text) return tl::unexpected(text.error());
    if (*text == kLast) return {};
    const auto peer = agent.peer(from);
    if (!peer) return tl::unexpected(peer.error());
    if (auto said = say(agent, *peer, *text); !said) return said;
  }
}

// The number behind the order to talk; 0 if it is none.
std::size_t talk_order(std::string_view text) {
  if (!text.starts_with(kTalkOrder)) return 0;
  std::size_t members = 0;
  std::from_chars(text.data() + kTalkOrder.size(), text.data() + text.size(), members);
  return members;
}

Result<void> send_words(Agent& agent, std::size_t members) {
  for (std::size_t number = 0; number < members; ++number) {
    if (member_name(number) == agent.name()) continue;
    const auto peer = agent.peer(member_name(number));
    if (!peer) return tl::unexpected(peer.error());
    if (auto said = say(agent, *peer, kWord); !said) return said;
  }
  return {};
}

// A member's record of messages from the others.
class Talker {
 public:
  Result<bool> hear(Agent& agent, Peer lead, std::string_view text) {
    const std::size_t members = talk_order(text);
    if (members == 0 && text != kWord) return false;
    if (members != 0) {
      wanted_ = members - 1;
      if (auto sent = send_words(agent, members); !sent) return tl::unexpected(sent.error());
    } else {
      ++heard_;
    }
    if (wanted_ != heard_) return true;
    if (auto said = say(agent, lead, kTalked); !said) return tl::unexpected(said.error());
    return true;
  }

 private:
  std::size_t wanted_ = kMostInCrowd;  // not told yet
  std::size_t heard_ = 0;
};

}  // namespace

std::uint64_t& result_of(CrowdPage& page, LeadResult which) {
  return page.results[static_cast<std::size_t>(which)];
}

Result<void> measure_alone(CrowdPage& page, Agent& agent, const std::vector<Peer>& members,
                           const Case& what) {
  const auto alone = time_round_trips(agent, members.front(), what);
  if (!alone) return tl::unexpected(alone.error());
  result_of(page, LeadResult::kAlone) = alone->p50_ns;
  return {};
}

Result<void> obey(CrowdPage& page, Agent& agent, const std::vector<Peer>& members,
                  const Case& what) {
  for (std::uint32_t count = 1;; ++count) {
    await_order(page, count);
    const auto task = static_cast<LeadTask>(page.task.load());
    Result<void> done;
    if (task == LeadTask::kRoundTrips) done = measure_ends(page, agent, members, what);
    if (task == LeadTask::kTalk) done = let_talk(page, agent, members);
    if (task == LeadTask::kLives) done = answer_lives(agent);
    if (!done) return done;
    make_step(page);
    if (task == LeadTask::kEnd) return {};
  }
}

Hear make_talker() {
  return [talker = std::make_shared<Talker>()](Agent& agent, Peer lead, const Message& message) {
    return talker->hear(agent, lead, message.text());
  };
}

Result<void> play_lives(CrowdPage& page, std::size_t lives) {
  const auto durations = std::make_unique<Histogram>();
  AttachOptions options;
  options.name = "guest";
  options.start_coordinator = false;
  for (std::size_t life = 1; life <= lives; ++life) {
    const std::int64_t start = os::monotonic_ns();
    auto agent = Agent::attach(options);
    if (!agent) return tl::unexpected(agent.error());
    const auto lead = agent->peer(kLeadName);
    if (!lead) return tl::unexpected(lead.error());
    // The lead hears of the last life once the result is there.
    if (life == lives) result_of(page, LeadResult::kLife) = durations->percentile(50.0);
    if (auto said = say(*agent, *lead, life < lives ? kEcho : kLast); !said) return said;
    if (life < lives) {
      const auto answer = hear_one(*agent);
      if (!answer) return tl::unexpected(answer.error());
    }
    agent->detach(after(std::chrono::seconds(10)));
    durations->record(os::monotonic_ns() - start);
  }
  return {};
}

}  // namespace beeline::bench
