// Agents and their states as other agents see them, and the agents that a name means.

#include <unistd.h>

#include <iterator>
#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RegistryBoard {
  Event attached;
  Event step;  // the player waits for this
  Event done;  // counts the steps that it has made
};

class FlowRegistry : public HiveTest {
 protected:
  // Ends a player that waits for a step.
  void end(std::size_t place) { kill_or_release(place, board<RegistryBoard>().step, 100); }
};
BEELINE_BOTH_WORLDS(FlowRegistry);

std::vector<std::string> names_of(const Result<std::vector<AgentInfo>>& agents) {
  EXPECT_TRUE(agents) << agents.error().text;
  std::vector<std::string> names;
  for (const AgentInfo& agent : agents.value_or(std::vector<AgentInfo>())) {
    names.push_back(agent.name);
  }
  return names;
}
using Names = std::vector<std::string>;

// No agent is told of a state, so ask until it is the wanted one. Returns the last one seen.
State await_state(Agent& agent, Pid pid, State wanted) {
  const Deadline deadline = patience();
  for (;;) {
    const auto seen = agent.info(pid);
    EXPECT_TRUE(seen) << seen.error().text;
    if (!seen || seen->state == wanted || std::chrono::steady_clock::now() > deadline) {
      return seen ? seen->state : State::kDead;
    }
    EXPECT_FALSE(agent.receive({.timeout = 2ms, .filter = kNobody}));
  }
}

#define EXPECT_STATE(agent, pid, wanted) \
  EXPECT_EQ(to_string(await_state(agent, pid, wanted)), to_string(wanted))

// ---- Siblings and children ----------------------------------------------------------------------

// Attaches, and stays until the first step.
BEELINE_ROLE(bystander) {
  auto& board = context.board<RegistryBoard>();
  AttachOptions options = named("bystander", "lead");
  options.role = "task";
  options.temporary = context.number == 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  EXPECT_EQ(names_of(agent->siblings()), Names{"kid"});
  board.attached.raise();
  EXPECT_TRUE(board.step.await(1, patience()));
}

TEST_P(FlowRegistry, HK_071_EachSiblingSeesTheOtherAndAnOnlyChildNobody) {
  auto lead = attach("lead");
  auto kid = attach("kid", "lead");
  ASSERT_TRUE(lead && kid);
  EXPECT_EQ(names_of(lead->siblings()), Names{}) << "an only child";
  EXPECT_EQ(names_of(kid->siblings()), Names{}) << "an only child";
  const std::size_t place = troupe().start("bystander", 0);
  ASSERT_TRUE(board<RegistryBoard>().attached.await(1, patience()));
  const auto siblings = kid->siblings();
  ASSERT_TRUE(siblings) << siblings.error().text;
  ASSERT_EQ(siblings->size(), 1U);
  const AgentInfo& other = siblings->front();
  EXPECT_EQ(other.name, "bystander");
  EXPECT_EQ(other.role, "task");
  EXPECT_EQ(other.parent, lead->pid());
  EXPECT_EQ(to_string(other.state), "idle");
  EXPECT_EQ(names_of(lead->siblings()), Names{}) << "children are no siblings";
  EXPECT_EQ(names_of(lead->children()), (Names{"kid", "bystander"}));
  end(place);
}

TEST_P(FlowRegistry, HK_071_ZombiesAndTheDeadAreListedWithTheirState) {
  auto& shared = board<RegistryBoard>();
  auto lead = attach("lead");
  auto kid = attach("kid", "lead");
  ASSERT_TRUE(lead && kid);
  for (const std::uint32_t temporary : {0U, 1U}) {
    const std::size_t place = troupe().start("bystander", temporary);
    ASSERT_TRUE(shared.attached.await(temporary + 1, patience()));
    const auto other = kid->find("bystander");
    ASSERT_TRUE(other) << other.error().text;
    EXPECT_EQ(other->temporary, temporary == 1);
    end(place);
    EXPECT_STATE(*kid, other->pid, temporary == 1 ? State::kDead : State::kZombie);
    const auto siblings = kid->siblings();
    ASSERT_TRUE(siblings) << siblings.error().text;
    ASSERT_EQ(siblings->size(), 1U) << "the second life took over from the first";
    EXPECT_EQ(siblings->front().pid, other->pid);
    EXPECT_EQ(siblings->front().os_pid, 0);
  }
  // C-16: no message goes to a dead agent.
  const auto peer = kid->peer(kid->siblings()->front().pid);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().code, ErrorCode::kPeerDead);
  EXPECT_NE(peer.error().text.find("is dead"), std::string::npos) << peer.error().text;
}

// A line of descent below "lead" that has every role but one.
struct Relative {
  const char* name;
  const char* parent;
  const char* role;
};
constexpr Relative kFamily[] = {{"a", "lead", "daemon"},
                                {"b", "a", "agent"},
                                {"c", "b", "lead"},
                                {"d", "c", "worker"},
                                {"e", "d", "task"}};
constexpr std::uint32_t kFamilySize = std::size(kFamily);

Names names_from(std::uint32_t first) {
  Names names;
  for (std::uint32_t i = first; i < kFamilySize; ++i) names.emplace_back(kFamily[i].name);
  return names;
}

BEELINE_ROLE(relative) {
  auto& board = context.board<RegistryBoard>();
  const Relative& place = kFamily[context.number];
  AttachOptions options = named(place.name, place.parent);
  options.role = place.role;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
  board.attached.raise();
  ASSERT_TRUE(board.step.await(1, patience()));
  const auto self = agent->info(0);
  ASSERT_TRUE(self) << self.error().text;
  EXPECT_EQ(self->pid, agent->pid());
  EXPECT_EQ(self->parent, agent->find(place.parent)->pid);
  EXPECT_EQ(self->name, place.name);
  EXPECT_EQ(self->role, place.role) << "HK-102";
  EXPECT_EQ(self->os_pid, ::getpid());
  EXPECT_EQ(names_of(agent->children(true)), names_from(context.number + 1));
  // No agent leaves before all have looked.
  board.done.raise();
  EXPECT_TRUE(board.done.await(kFamilySize, patience()));
}

TEST_P(FlowRegistry, HK_108_InfoTellsOfOneselfOfOthersAndOfTheKing) {
  auto& shared = board<RegistryBoard>();
  const std::int64_t before = os::realtime_ns();
  AttachOptions options = named("lead");
  options.role = "architect";
  auto lead = attach(options);
  ASSERT_TRUE(lead);
  for (std::uint32_t i = 0; i < kFamilySize; ++i) {
    troupe().start("relative", i);
    ASSERT_TRUE(shared.attached.await(i + 1, patience()));
  }
  const auto self = lead->info();
  ASSERT_TRUE(self) << self.error().text;
  EXPECT_EQ(self->pid, lead->pid());
  EXPECT_EQ(self->parent, 1U);
  EXPECT_EQ(self->name, "lead");
  EXPECT_EQ(self->role, "architect");
  EXPECT_EQ(self->children, 1U);
  EXPECT_GE(self->started_unix_ns, before);
  EXPECT_LE(self->started_unix_ns, os::realtime_ns());
  EXPECT_EQ(self->os_pid, ::getpid());
  EXPECT_EQ(self->restarts, 0U);
  EXPECT_FALSE(self->temporary);

  Pid parent = lead->pid();
  for (std::uint32_t i = 0; i < kFamilySize; ++i) {
    const Pid pid = lead->find(kFamily[i].name)->pid;
    const auto other = lead->info(pid);
    ASSERT_TRUE(other) << other.error().text;
    EXPECT_EQ(other->name, kFamily[i].name);
    EXPECT_EQ(other->role, kFamily[i].role);
    EXPECT_EQ(other->parent, parent);
    EXPECT_EQ(other->os_pid == ::getpid(), GetParam() == World::kThreads);
    parent = pid;
  }
  const auto king = lead->info(1);
  ASSERT_TRUE(king) << king.error().text;
  EXPECT_EQ(king->name, "king");
  EXPECT_EQ(king->role, "kernel");
  EXPECT_EQ(king->parent, 0U);
  const auto nobody = lead->info(1U << 23);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kNoAgent);
  EXPECT_NE(nobody.error().text.find("8388608"), std::string::npos) << nobody.error().text;
  EXPECT_EQ(lead->find("nobody").error().code, ErrorCode::kNoAgent);

  EXPECT_EQ(names_of(lead->children()), Names{"a"});
  EXPECT_EQ(names_of(lead->children(true)), names_from(0));

  const std::int64_t started = self->started_unix_ns;
  lead.reset();
  lead = attach(options);
  ASSERT_TRUE(lead);
  const auto again = lead->info();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->restarts, 1U);
  EXPECT_EQ(again->started_unix_ns, started);
  EXPECT_EQ(names_of(lead->children(true)), names_from(0));
  shared.step.raise();
  troupe().wait_all(patience());
  lead->detach();
  EXPECT_EQ(lead->info().error().code, ErrorCode::kClosed);
}

// ---- States -------------------------------------------------------------------------------------

// Does one thing after the other, each after a step.
BEELINE_ROLE(actor) {
  auto& board = context.board<RegistryBoard>();
  auto agent = attach("actor");
  ASSERT_TRUE(agent);
  const Peer watcher = peer_of(*agent, "watcher");
  std::uint32_t steps = 0;
  const auto next = [&] {
    board.done.raise();
    return board.step.await(++steps, patience());
  };
  ASSERT_TRUE(next());  // idle
  {
    Message first = next_message(*agent);
    ASSERT_TRUE(first.valid());
    Message second = next_message(*agent);
    ASSERT_TRUE(second.valid());
    ASSERT_TRUE(next());  // running: two in hand
    first.done();
    ASSERT_TRUE(next());  // running: one in hand
    second.requeue();
  }
  ASSERT_TRUE(next());  // idle
  next_message(*agent).reject();
  {
    auto answer = agent->request(watcher, "?", patience());  // blocked
    ASSERT_TRUE(answer) << answer.error().text;
    ASSERT_TRUE(next());  // running: an answer is a message
    answer->done();
  }
  agent->set_sleeping(true);
  ASSERT_TRUE(next());  // sleeping
  agent->set_sleeping(false);
  ASSERT_TRUE(next());  // idle
  while (agent->send(watcher, "fill")) {
  }
  EXPECT_TRUE(agent->send_until(watcher, "the last", patience()));  // blocked
  next();                                                           // idle
}

TEST_P(FlowRegistry, HK_102_StatesFollowTheActionsOfAnAgent) {
  auto& shared = board<RegistryBoard>();
  auto watcher = attach("watcher");
  ASSERT_TRUE(watcher);
  const std::size_t place = troupe().start("actor");
  std::uint32_t steps = 0;
  const auto made = [&] { return shared.done.await(steps + 1, patience()); };
  const auto go_on = [&] { shared.step.raise(), ++steps; };
  ASSERT_TRUE(made());
  const Peer actor = peer_of(*watcher, "actor");
  EXPECT_STATE(*watcher, actor.pid, State::kIdle);
  ASSERT_TRUE(watcher->send(actor, "one"));
  ASSERT_TRUE(watcher->send(actor, "two"));
  for (const State state : {State::kRunning, State::kRunning, State::kIdle}) {
    go_on();
    ASSERT_TRUE(made());
    EXPECT_EQ(to_string(watcher->info(actor.pid)->state), to_string(state)) << steps;
  }
  go_on();
  EXPECT_STATE(*watcher, actor.pid, State::kBlocked);
  Message question = next_message(*watcher);
  ASSERT_TRUE(question.valid());
  EXPECT_EQ(to_string(watcher->info()->state), "running") << "of oneself";
  EXPECT_TRUE(watcher->reply(question, "!"));
  question.done();
  for (const State state : {State::kRunning, State::kSleeping, State::kIdle}) {
    ASSERT_TRUE(made());
    EXPECT_EQ(to_string(watcher->info(actor.pid)->state), to_string(state)) << steps;
    go_on();
  }
  // The actor waits for space. Nothing but the wait between two looks takes messages here, and that
  // must not make space, so the test asks for the state without a look.
  const Deadline deadline = patience();
  while (watcher->info(actor.pid)->state != State::kBlocked) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it is not blocked for space";
  }
  for (bool last = false; !last;) {
    Message message = next_message(*watcher);
    ASSERT_TRUE(message.valid());
    last = message.text() == "the last";
    message.done();
  }
  ASSERT_TRUE(made());
  EXPECT_EQ(to_string(watcher->info(actor.pid)->state), "idle");
  end(place);
  EXPECT_STATE(*watcher, actor.pid, State::kZombie);
}

// ---- Names --------------------------------------------------------------------------------------

// Sends to each name that it is told, and reports the agent that it found.
BEELINE_ROLE(caller) {
  auto agent = attach("caller");
  ASSERT_TRUE(agent);
  const auto call = [&](Message& message) {
    if (message.type() == "stop") {
      agent->stop_serving();
      return Ack{};
    }
    const SendResult sent = agent->send(message.text(), "hail");
    const auto found = agent->find(message.text());
    const std::string pid = found ? std::to_string(found->pid) : "nobody";
    EXPECT_TRUE(agent->reply(message, std::string(to_string(sent.status)) + ' ' + pid));
    return Ack{};
  };
  EXPECT_TRUE(agent->serve(call));
  EXPECT_EQ(agent->detach(patience()), 0U);
}

// The caller's report on a name.
std::string called(Agent& director, const std::string& name) {
  auto answer = director.request(peer_of(director, "caller"), name, patience());
  if (!answer) return answer.error().text;
  std::string text(answer->text());
  answer->done();
  return text;
}

TEST_P(FlowRegistry, HK_072_AShortNameFindsTheNewestHolderAndAnExactNameGoesFirst) {
  auto director = attach("director");
  auto first = attach("queen@vps1");
  ASSERT_TRUE(director && first);
  troupe().start("caller");
  const Pid caller = peer_of(*director, "caller").pid;
  const auto reaches = [&](Agent& agent, const std::string& name) {
    EXPECT_EQ(called(*director, name), "ok " + std::to_string(agent.pid())) << name;
    Message message = next_message(agent);
    ASSERT_TRUE(message.valid());
    EXPECT_EQ(message.from(), caller);
    EXPECT_EQ(message.text(), "hail");
    message.done();
  };
  reaches(*first, "queen");
  for (const char* nobody : {"quee", "queen@", "queen@vps"}) {
    EXPECT_EQ(called(*director, nobody), "no_agent nobody") << nobody;
  }

  auto second = attach("queen@vps2");
  ASSERT_TRUE(second);
  reaches(*second, "queen");
  reaches(*first, "queen@vps1");
  auto exact = attach("queen");
  ASSERT_TRUE(exact);
  EXPECT_NE(exact->pid(), first->pid()) << "an attach takes over exact names alone";
  EXPECT_NE(exact->pid(), second->pid()) << "an attach takes over exact names alone";
  reaches(*exact, "queen");
  auto child = attach("child", "queen@vps2");
  ASSERT_TRUE(child);
  EXPECT_EQ(child->parent(), second->pid());

  // A number is a pid, even if some name begins with it; no agent has a number as its name.
  const std::string pid = std::to_string(first->pid());
  auto shadow = attach(pid + "@vps1");
  ASSERT_TRUE(shadow);
  reaches(*first, pid);
  const auto namesake = Agent::attach(named(pid));
  ASSERT_FALSE(namesake);
  EXPECT_EQ(namesake.error().code, ErrorCode::kInvalid) << namesake.error().text;
  EXPECT_TRUE(director->send("caller", "", {.type = "stop"}));
  troupe().wait_all(patience());
}

// One of two agents that have the same name, one after the other.
BEELINE_ROLE(dup) {
  auto& board = context.board<RegistryBoard>();
  AttachOptions passing = named("dup");
  passing.temporary = true;
  auto agent = attach(passing);
  ASSERT_TRUE(agent);
  board.attached.raise();
  Message received = next_message(*agent);
  ASSERT_TRUE(received.valid());
  EXPECT_EQ(received.text(), context.number == 0 ? "to the old" : "to the new");
  received.done();
  board.done.raise();
}

TEST_P(FlowRegistry, HK_101_ANameMeansTheNewestHolderThatIsNotDead) {
  auto& shared = board<RegistryBoard>();
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  const std::size_t old = troupe().start("dup", 0);
  ASSERT_TRUE(shared.attached.await(1, patience()));
  const Pid before = sender->find("dup")->pid;
  ASSERT_TRUE(sender->send("dup", "to the old"));
  troupe().wait(old, patience());
  EXPECT_STATE(*sender, before, State::kDead);
  EXPECT_EQ(sender->find("dup")->pid, before) << "nobody else has the name";
  EXPECT_EQ(sender->send("dup", "to nobody").status, SendStatus::kNoAgent);
  troupe().start("dup", 1);
  ASSERT_TRUE(shared.attached.await(2, patience()));
  const Pid heir = sender->find("dup")->pid;
  EXPECT_GT(heir, before);
  EXPECT_EQ(to_string(sender->info(before)->state), "dead") << "the name has two holders";
  ASSERT_TRUE(sender->send("dup", "to the new"));
  troupe().wait_all(patience());
  EXPECT_EQ(shared.done.count(), 2U);
}

}  // namespace
}  // namespace beeline::test
