// Leftovers of agents that died for good: the coordinator reads their homes and lanes, one agent
// after the other. Unfinished messages become its dead letters.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "src/control/letters_client.h"
#include "src/os/process.h"
#include "tests/support/hive_test.h"
#include "tools/beeline/accounts.h"

namespace beeline::test {
namespace {

struct TakeoverBoard {
  Event drained;
  Event leave;
};

class FlowTakeover : public HiveTest {
 protected:
  // Repeats until the condition holds.
  static void await(const std::function<bool()>& condition) {
    const Deadline deadline = patience();
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not come about";
      os::yield();
    }
  }
  // Returns once the process has stopped.
  void stop(std::size_t place) {
    const pid_t process = troupe().os_pid(place);
    siginfo_t stopped{};
    ASSERT_EQ(::kill(process, SIGSTOP), 0);
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process), &stopped, WSTOPPED | WNOWAIT), 0);
  }
  void restart_coordinator() {
    auto client = hive().client();
    const auto before = client.status();
    ASSERT_TRUE(before) << before.error().text;
    ASSERT_EQ(::kill(static_cast<pid_t>(before->coordinator_pid), SIGKILL), 0);
    while (client.status()) {
    }
    EXPECT_GT(hive().status().restarts, before->restarts);
  }
  [[nodiscard]] bool has_inbox(control::Client& client, Pid pid) {
    const auto accounts = cli::read_accounts(client, hive().name());
    return !accounts || accounts->find(pid) != nullptr;
  }
};
INSTANTIATE_TEST_SUITE_P(As, FlowTakeover, testing::Values(World::kProcesses), world_name);

AttachOptions mortal(const std::string& name) {
  AttachOptions options = named(name);
  options.temporary = true;
  return options;
}

const std::string kInSlab(1000, 's');

BEELINE_ROLE(mortal_sender) {
  auto agent = attach(mortal("sender"));
  ASSERT_TRUE(agent);
  const Peer to = peer_of(*agent, "receiver");
  ASSERT_TRUE(agent->send(to, "in a slot"));
  ASSERT_TRUE(agent->send(to, kInSlab));
  for (;;) ::pause();
}

// Takes its messages into its inbox, and finishes none.
BEELINE_ROLE(mortal_receiver) {
  auto& board = context.board<TakeoverBoard>();
  auto agent = attach(mortal("receiver"));
  ASSERT_TRUE(agent);
  await_drained(*agent, 3);
  ASSERT_TRUE(agent->send(peer_of(*agent, "sender"), "never read"));
  board.drained.raise();
  for (;;) ::pause();
}

BEELINE_ROLE(late_witness) {
  auto& board = context.board<TakeoverBoard>();
  auto agent = attach("witness");
  ASSERT_TRUE(agent);
  ASSERT_TRUE(agent->send(peer_of(*agent, "receiver"), "of the witness"));
  drain_until(*agent, [&] { return board.leave.count() != 0; });
}

// The witness may still send by the directory of the previous coordinator. So the receiver is read
// after the sender, of which only the link is needed by then.
TEST_P(FlowTakeover, C_16_TheLettersOfOneThatWasReadFirstAreFoundInTheInboxOfTheOther) {
  auto& shared = board<TakeoverBoard>();
  const std::size_t sender = troupe().start("mortal_sender");
  const std::size_t receiver = troupe().start("mortal_receiver");
  const std::size_t witness = troupe().start("late_witness");
  ASSERT_TRUE(shared.drained.await(1, patience()));
  auto agent = attach("reader");
  ASSERT_TRUE(agent);
  const Pid from = peer_of(*agent, "sender").pid;
  const Pid to = peer_of(*agent, "receiver").pid;
  const Pid other = peer_of(*agent, "witness").pid;
  EXPECT_EQ(agent->detach(), 0U);

  ASSERT_NO_FATAL_FAILURE(stop(witness));
  ASSERT_NO_FATAL_FAILURE(restart_coordinator());
  troupe().kill(sender);
  troupe().kill(receiver);
  auto client = hive().client();
  ASSERT_NO_FATAL_FAILURE(await([&] { return !has_inbox(client, from); }));
  EXPECT_EQ(hive().status().dead_letters, 1U) << "what the receiver had sent, and no more yet";
  EXPECT_TRUE(has_inbox(client, to));
  ASSERT_EQ(::kill(troupe().os_pid(witness), SIGCONT), 0);
  ASSERT_NO_FATAL_FAILURE(await([&] { return !has_inbox(client, to); }));

  const auto letters = control::list_kept_letters(client);
  ASSERT_TRUE(letters) << letters.error().text;
  std::set<std::pair<Pid, std::string>> found;
  for (const control::KeptLetter& each : *letters) {
    EXPECT_EQ(each.reason, "receiver_dead");
    EXPECT_EQ(each.to, each.from == to ? from : to);
    const auto whole = control::read_kept_letter(client, {each.id, each.to});
    ASSERT_TRUE(whole) << whole.error().text;
    found.emplace(each.from, whole->payload);
  }
  const std::set<std::pair<Pid, std::string>> all{
      {to, "never read"}, {from, "in a slot"}, {from, kInSlab}, {other, "of the witness"}};
  EXPECT_EQ(found, all);
  shared.leave.raise();
  troupe().wait(witness, patience());
}

}  // namespace
}  // namespace beeline::test
