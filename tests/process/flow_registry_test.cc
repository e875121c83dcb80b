// Who is there and in what state, as agents see each other; and whom a name means.

#include <unistd.h>

#include <string>
#include <vector>

#include "src/os/clock.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

struct RegistryBoard {
  Event attached;
  Event step;  // what the player waits for
  Event done;  // how many steps it has made
};

class FlowRegistry : public HiveTest {
 protected:
  // Ends a player that waits for a step: with SIGKILL where it is a process, else by leaving.
  void end(std::size_t place) {
    if (GetParam() == World::kProcesses) {
      troupe().kill(place);
    } else {
      board<RegistryBoard>().step.raise(100);
      troupe().wait(place, patience());
    }
  }
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

// Nobody is told of a state: asks until it is so, and returns the last one that it saw.
State await_state(Agent& agent, Pid pid, State wanted) {
  const Deadline deadline = patience();
  for (;;) {
    const auto seen = agent.info(pid);
    EXPECT_TRUE(seen) << seen.error().text;
    if (!seen || seen->state == wanted || std::chrono::steady_clock::now() > deadline) {
      return seen ? seen->state : State::kDead;
    }
    EXPECT_FALSE(agent.receive({.timeout = 2ms, .filter = {.type = "none"}}));
  }
}

#define EXPECT_STATE(agent, pid, wanted) \
  EXPECT_EQ(to_string(await_state(agent, pid, wanted)), to_string(wanted))

// ---- Siblings and children ----------------------------------------------------------------------

// Comes, and stays until the first step.
BEELINE_ROLE(bystander) {
  auto& board = context.board<RegistryBoard>();
  AttachOptions options = named("bystander", "lead");
  options.role = "task";
  options.temporary = context.number == 1;
  auto agent = attach(options);
  ASSERT_TRUE(agent);
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
  // C-16: nothing is sent to the dead.
  const auto peer = kid->peer(kid->siblings()->front().pid);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().code, ErrorCode::kPeerDead);
  EXPECT_NE(peer.error().text.find("is dead"), std::string::npos) << peer.error().text;
}

TEST_P(FlowRegistry, HK_108_InfoTellsOfOneselfOfOthersAndOfTheKing) {
  const std::int64_t before = os::realtime_ns();
  AttachOptions options = named("lead");
  options.role = "architect";
  auto lead = attach(options);
  auto a = attach("a", "lead");
  auto b = attach("b", "a");
  auto c = attach("c", "b");
  ASSERT_TRUE(lead && a && b && c);
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

  const auto other = lead->info(b->pid());
  ASSERT_TRUE(other) << other.error().text;
  EXPECT_EQ(other->name, "b");
  EXPECT_EQ(other->parent, a->pid());
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
  EXPECT_EQ(names_of(lead->children(true)), (Names{"a", "b", "c"}));
  EXPECT_EQ(names_of(c->children(true)), Names{});

  const std::int64_t started = self->started_unix_ns;
  lead.reset();
  lead = attach(options);
  ASSERT_TRUE(lead);
  const auto again = lead->info();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->restarts, 1U);
  EXPECT_EQ(again->started_unix_ns, started);
  EXPECT_EQ(names_of(lead->children(true)), (Names{"a", "b", "c"}));
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

TEST_P(FlowRegistry, HK_102_StatesFollowWhatAnAgentDoes) {
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
  // It waits for space: nothing is taken here meanwhile but by the wait between two looks, which
  // must not make space, so the state is asked without one.
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

TEST_P(FlowRegistry, HK_072_AShortNameFindsTheNewestHolderAndAnExactNameGoesFirst) {
  auto sender = attach("sender");
  auto first = attach("queen@vps1");
  ASSERT_TRUE(sender && first);
  const auto reaches = [&](Agent& agent, std::string_view name) {
    const auto sent = sender->send(name, "hail");
    EXPECT_TRUE(sent) << to_string(sent.status);
    Message message = next_message(agent);
    if (message.valid()) message.done();
    const auto found = sender->find(name);
    EXPECT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->pid, agent.pid());
  };
  reaches(*first, "queen");
  EXPECT_EQ(sender->send("quee", "x").status, SendStatus::kNoAgent);
  EXPECT_EQ(sender->send("queen@", "x").status, SendStatus::kNoAgent);
  EXPECT_EQ(sender->send("queen@vps", "x").status, SendStatus::kNoAgent);

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

  // A pid goes before a short name, and after an exact one.
  const std::string pid = std::to_string(first->pid());
  auto shadow = attach(pid + "@vps1");
  ASSERT_TRUE(shadow);
  reaches(*first, pid);
  auto namesake = attach(pid);
  ASSERT_TRUE(namesake);
  reaches(*namesake, pid);
}

TEST_P(FlowRegistry, HK_101_ANameMeansTheNewestHolderThatIsNotDead) {
  auto sender = attach("sender");
  ASSERT_TRUE(sender);
  AttachOptions passing = named("dup");
  passing.temporary = true;
  auto old = attach(passing);
  ASSERT_TRUE(old);
  const Pid before = old->pid();
  ASSERT_TRUE(sender->send("dup", "to the old"));
  Message received = next_message(*old);
  ASSERT_TRUE(received.valid());
  received.done();
  old.reset();
  EXPECT_STATE(*sender, before, State::kDead);
  EXPECT_EQ(sender->find("dup")->pid, before) << "nobody else has the name";
  auto heir = attach(passing);
  ASSERT_TRUE(heir);
  EXPECT_GT(heir->pid(), before);
  EXPECT_EQ(sender->find("dup")->pid, heir->pid());
  ASSERT_TRUE(sender->send("dup", "to the new"));
  Message mail = next_message(*heir);
  ASSERT_TRUE(mail.valid());
  EXPECT_EQ(mail.text(), "to the new");
  mail.done();
}

}  // namespace
}  // namespace beeline::test
