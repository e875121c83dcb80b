// An agent of another user can only talk to its peers. The attacker is an ordinary agent of another
// user than the victim and the hive. Each attempt is a test of its own. After each, the queen talks
// to the victim as before.

#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "shm/link.h"
#include "src/control/client.h"
#include "src/control/letters_client.h"
#include "src/os/event_fd.h"
#include "src/os/mapping.h"
#include "src/os/pid_fd.h"
#include "src/send/out_link.h"
#include "tests/process/other_uid_fixture.h"
#include "tests/support/program.h"

namespace beeline::test {
namespace {

constexpr int kMostFds = 64;

Message await_message(Agent& agent, int fd) {
  for (;;) {
    if (auto message = agent.try_receive()) return std::move(*message);
    if (!os::wait_readable(fd, kPatience)) return {};
  }
}

BEELINE_ROLE(victim) {
  auto& board = context.board<UidBoard>();
  become(kVictimUser, {kGroup});
  auto agent = Agent::attach(without_start("victim"));
  ASSERT_TRUE(agent) << agent.error().text;
  board.victim = ::getpid();
  board.victim_agent = agent->pid();
  board.victim_incarnation = agent->incarnation();
  const int fd = context.number == kVictimOnFd ? agent->fd() : -1;
  board.victim_is_up.raise();
  for (;;) {
    Message message = fd < 0 ? next_message(*agent) : await_message(*agent, fd);
    ASSERT_TRUE(message.valid());
    const bool is_end = message.text() == "end";
    EXPECT_TRUE(agent->reply(message, message.text()));
    message.done();
    if (is_end) return;
  }
}

// ---- The attempts -------------------------------------------------------------------------------

// The means of the attacker: an agent that talks to the victim, and everything that the coordinator
// hands to such an agent.
struct Attacker {
  UidBoard& board;
  Agent agent;
  control::Client client;  // speaks by hand for a second agent of the attacker
  control::Attached attached;
  std::optional<send::OutLink> link;  // from that agent to the victim
  control::Opened opened;             // holds the status page of the victim

  // All processes of the hive that are not ours. The keeper holds a descriptor of every segment.
  [[nodiscard]] std::array<pid_t, 4> others() const {
    return {board.victim, board.queen, board.keeper, board.coordinator};
  }
};

std::string file_of(pid_t process, const std::string& file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

#define EXPECT_REFUSED(call, ...)                                                                \
  do {                                                                                           \
    errno = 0;                                                                                   \
    EXPECT_LT(static_cast<long>(call), 0) << #call << " succeeded";                              \
    const std::vector<int> expected{__VA_ARGS__};                                                \
    EXPECT_NE(std::find(expected.begin(), expected.end(), errno), expected.end())                \
        << #call << " failed for another reason than that it is forbidden: " << strerror(errno); \
  } while (false)

void open_descriptors_of_a_peer(Attacker& self) {
  for (const pid_t process : self.others()) {
    for (int fd = 0; fd < kMostFds; ++fd) {
      EXPECT_REFUSED(::open(file_of(process, "fd/" + std::to_string(fd)).c_str(), O_RDONLY),
                     EACCES);
    }
  }
}

void take_descriptors_from_a_peer(Attacker& self) {
  for (const pid_t process : self.others()) {
    const auto pidfd = os::open_pidfd(process);
    ASSERT_TRUE(pidfd);
    for (int fd = 0; fd < kMostFds; ++fd) {
      EXPECT_REFUSED(::syscall(SYS_pidfd_getfd, pidfd->get(), fd, 0), EPERM);
    }
  }
}

void read_or_write_the_memory_of_a_peer(Attacker& self) {
  for (const pid_t process : self.others()) {
    EXPECT_REFUSED(::open(file_of(process, "mem").c_str(), O_RDONLY), EACCES);
    EXPECT_REFUSED(::open(file_of(process, "mem").c_str(), O_RDWR), EACCES);
    EXPECT_REFUSED(::open(file_of(process, "maps").c_str(), O_RDONLY), EACCES);
    std::uint64_t word = 0;
    const iovec mine{&word, sizeof word};
    const iovec theirs{&word, sizeof word};
    EXPECT_REFUSED(::process_vm_readv(process, &mine, 1, &theirs, 1, 0), EPERM);
    EXPECT_REFUSED(::process_vm_writev(process, &mine, 1, &theirs, 1, 0), EPERM);
  }
}

void trace_a_peer(Attacker& self) {
  for (const pid_t process : self.others()) {
    EXPECT_REFUSED(::ptrace(PTRACE_SEIZE, process, nullptr, nullptr), EPERM);
    EXPECT_REFUSED(::ptrace(PTRACE_ATTACH, process, nullptr, nullptr), EPERM);
  }
}

void signal_a_peer_or_the_hive(Attacker& self) {
  for (const pid_t process : self.others()) {
    for (const int number : {SIGTERM, SIGSTOP, SIGKILL}) {
      EXPECT_REFUSED(::kill(process, number), EPERM);
      const auto pidfd = os::open_pidfd(process);
      ASSERT_TRUE(pidfd);
      EXPECT_REFUSED(::syscall(SYS_pidfd_send_signal, pidfd->get(), number, nullptr, 0), EPERM);
    }
  }
}

// We were handed only the links between the victim and us.
void find_a_link_of_others(Attacker& self) {
  std::error_code error;
  int links = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find("-home-") != std::string::npos) {
      EXPECT_NE(target.find("-home-" + std::to_string(self.agent.pid()) + "-"), std::string::npos)
          << "we hold somebody else's inbox: " << target;
    }
    if (target.find("-link-") == std::string::npos) continue;
    ++links;
    shm::SegmentHeader header{};
    const os::UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::pread(fd.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    const auto is_ours = [&](Pid pid) {
      return pid == self.agent.pid() || pid == self.attached.pid;
    };
    EXPECT_TRUE(is_ours(header.owner_pid) || is_ours(header.peer_pid)) << target;
  }
  EXPECT_GE(links, 2) << "there was nothing to look at";
}

bool is_link(int fd) {
  std::error_code error;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return std::filesystem::read_symlink(path, error).string().find("-link-") != std::string::npos;
}

void write_what_a_peer_has_shown_us(Attacker& self) {
  ASSERT_TRUE(self.agent.request("victim", "before"));
  std::vector<os::UniqueFd> shown;
  shown.push_back(std::move(self.opened.status));
  shown.push_back(std::move(self.attached.directory));
  std::error_code error;
  const std::string link = "-link-" + std::to_string(self.board.victim_agent) + "-";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find(link) == std::string::npos) continue;
    shown.emplace_back(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
  }
  ASSERT_GE(shown.size(), 3U) << "status page, directory and link of the victim";
  for (const os::UniqueFd& fd : shown) {
    // The mode of the file allows this; the seals make it useless.
    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    const os::UniqueFd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    for (const int way : {fd.get(), again.valid() ? again.get() : fd.get()}) {
      void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, way, 0);
      EXPECT_EQ(mapped, MAP_FAILED);
      EXPECT_REFUSED(::pwrite(way, "x", 1, 0), EPERM, EBADF);
      EXPECT_REFUSED(::ftruncate(way, 0), EPERM, EINVAL);
      // Any holder may extend a link; nobody looks beyond the end that its owner announces.
      if (::ftruncate(way, 1LL << 40) == 0) {
        EXPECT_TRUE(is_link(way));
      } else {
        EXPECT_TRUE(errno == EPERM || errno == EINVAL) << errno;
      }
      EXPECT_REFUSED(::fallocate(way, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), EPERM,
                     EBADF);
      EXPECT_REFUSED(::fcntl(way, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    }
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    EXPECT_REFUSED(::mprotect(mapped, 4096, PROT_READ | PROT_WRITE), EACCES);
    EXPECT_REFUSED(::madvise(mapped, 4096, MADV_REMOVE), EACCES, EPERM);
    const os::UniqueFd memory(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    EXPECT_REFUSED(::pwrite(memory.get(), "x", 1,
                            static_cast<off_t>(reinterpret_cast<std::uintptr_t>(mapped))),
                   EIO, EFAULT, EBADF);
    ::munmap(mapped, 4096);
  }
}

void attach_under_a_name_that_is_in_use(Attacker&) {
  const auto taken = Agent::attach(without_start("victim"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kAlreadyRunning) << taken.error().text;
}

// A successor reads the messages of its predecessor, so it must be of the same user.
void take_over_an_agent_of_another_user(Attacker&) {
  const auto taken = Agent::attach(without_start("heir"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kDenied) << taken.error().text;
}

void resume_the_life_of_a_peer(Attacker& self) {
  control::ClientOptions options;
  options.start = false;
  auto client = control::Client::connect(options);
  ASSERT_TRUE(client);
  control::ResumeRequest claim;
  claim.as.name = "victim";
  claim.pid = self.board.victim_agent;
  claim.incarnation = shm::Incarnation(self.board.victim_incarnation);
  claim.parent_pid = 1;
  claim.ready = true;
  const auto resumed = client->resume(claim, -1, -1, -1);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().code, ErrorCode::kDenied) << resumed.error().text;
}

// The owner of the segment is the sender of its messages: a link that claims another owner is
// refused.
void open_a_link_in_the_name_of_a_peer(Attacker& self) {
  const shm::LinkContract contract = self.link->view().contract();
  const shm::LinkKey key{shm::Incarnation(self.board.victim_incarnation), 77};
  const auto forged = send::OutLink::create("forged", self.board.victim_agent,
                                            self.board.victim_agent, key, contract);
  ASSERT_TRUE(forged);
  control::OpenRequest request;
  request.to = self.agent.pid();
  request.serial = 77;
  request.contract = contract;
  const auto opened = self.client.open(request, forged->memory().fd());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kBadSegment) << opened.error().text;
}

void order_the_letters_of_a_peer_or_the_end_of_the_hive(Attacker& self) {
  control::LettersRequest letters;
  letters.to = self.board.victim_agent;
  letters.what = control::kPurgeLetters;
  const auto purged = control::ask_letters(self.client, letters);
  ASSERT_FALSE(purged);
  EXPECT_EQ(purged.error().code, ErrorCode::kDenied) << purged.error().text;
  const auto kept = control::list_kept_letters(self.client);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::kDenied) << kept.error().text;
  const auto down = self.client.down();
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code, ErrorCode::kDenied) << down.error().text;
}

void touch_the_files_of_the_hive(Attacker&) {
  const std::string directory = std::getenv("BEELINE_DIR");
  EXPECT_REFUSED(::open((directory + "/state.json").c_str(), O_RDONLY), EACCES);
  EXPECT_REFUSED(::open((directory + "/beelined.log").c_str(), O_RDONLY), EACCES);
  EXPECT_REFUSED(::open((directory + "/lock").c_str(), O_RDONLY), EACCES);
  EXPECT_REFUSED(::open((directory + "/mine").c_str(), O_RDWR | O_CREAT, 0600), EACCES);
  EXPECT_REFUSED(::unlink((directory + "/socket").c_str()), EACCES);
  EXPECT_REFUSED(::chmod(directory.c_str(), 0777), EPERM);
}

// While the queen talks to the victim, we move the victim from its own futex to one of ours. The
// victim does not sleep there, because it knows a peer of another user.
void move_a_sleeping_peer_to_a_futex_of_ours(Attacker& self) {
  const auto page = os::Mapping::map_readable(self.opened.status.get(), shm::kStatusBytes);
  ASSERT_TRUE(page);
  const auto& status = *reinterpret_cast<const shm::StatusPage*>(page->data());
  auto* const mine = static_cast<std::uint32_t*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(mine), MAP_FAILED);
  self.board.attack_begins.raise();
  std::uint64_t said = 0;
  std::uint64_t moved = 0;
  while (self.board.attack_may_end.count() == 0) {
    said += shm::how_asleep(status.sleep.observe()) == shm::Sleep::kFutex ? 1U : 0U;
    moved += ::syscall(SYS_futex, &status.sleep, FUTEX_REQUEUE, 0, 1, mine, 0) > 0 ? 1U : 0U;
    self.board.turns.fetch_add(1);
  }
  EXPECT_EQ(said, 0U) << "looks at a page that said \"asleep on the futex\"";
  EXPECT_EQ(moved, 0U) << "times that it slept there and was moved";
}

// While the queen talks to the victim, we drain every eventfd that we were handed. We ring nobody
// meanwhile, so each token is a stolen ring of another agent.
void steal_the_rings_of_others(Attacker& self) {
  const std::vector<int> events = open_event_fds();
  ASSERT_GE(events.size(), 3U) << "our own, and those that we ring the victim with";
  for (const int fd : events) (void)os::drain_event(fd);
  self.board.attack_begins.raise();
  std::uint64_t stolen = 0;
  while (self.board.attack_may_end.count() == 0) {
    for (const int fd : events) stolen += os::drain_event(fd) ? 1U : 0U;
    self.board.turns.fetch_add(1);
  }
  EXPECT_EQ(stolen, 0U) << "rings that were meant to wake the victim";
}

struct Attempt {
  const char* name;
  void (*act)(Attacker& self);
  bool goes_on = false;  // until it is told to end
};
constexpr std::array kAttempts = {
    Attempt{"OpenDescriptorsOfAPeer", open_descriptors_of_a_peer},
    Attempt{"TakeDescriptorsFromAPeer", take_descriptors_from_a_peer},
    Attempt{"ReadOrWriteTheMemoryOfAPeer", read_or_write_the_memory_of_a_peer},
    Attempt{"TraceAPeer", trace_a_peer},
    Attempt{"SignalAPeerOrTheHive", signal_a_peer_or_the_hive},
    Attempt{"FindALinkOfOthers", find_a_link_of_others},
    Attempt{"WriteWhatAPeerHasShownUs", write_what_a_peer_has_shown_us},
    Attempt{"AttachUnderANameThatIsInUse", attach_under_a_name_that_is_in_use},
    Attempt{"TakeOverAnAgentOfAnotherUser", take_over_an_agent_of_another_user},
    Attempt{"ResumeTheLifeOfAPeer", resume_the_life_of_a_peer},
    Attempt{"OpenALinkInTheNameOfAPeer", open_a_link_in_the_name_of_a_peer},
    Attempt{"OrderTheLettersOfAPeerOrTheEndOfTheHive",
            order_the_letters_of_a_peer_or_the_end_of_the_hive},
    Attempt{"TouchTheFilesOfTheHive", touch_the_files_of_the_hive},
    Attempt{"MoveASleepingPeerToAFutexOfOurs", move_a_sleeping_peer_to_a_futex_of_ours, true},
    Attempt{"StealTheRingsOfOthersByDrainingEventfds", steal_the_rings_of_others, true},
};

BEELINE_ROLE(attacker) {
  become(kAttackerUser, {kGroup});
  auto agent = Agent::attach(without_start("attacker"));
  ASSERT_TRUE(agent) << agent.error().text;
  {
    const auto answer = agent->request("victim", "may I?");
    ASSERT_TRUE(answer) << "the attacker is an agent like any other: " << answer.error().text;
  }
  control::ClientOptions options;
  options.start = false;
  auto client = control::Client::connect(options);
  ASSERT_TRUE(client) << client.error().text;
  Attacker self{context.board<UidBoard>(), std::move(*agent), std::move(*client), {}, {}, {}};
  control::AttachRequest request;
  request.name = "by-hand";
  request.temporary = true;
  auto attached = self.client.attach(request);
  ASSERT_TRUE(attached) << attached.error().text;
  self.attached = std::move(*attached);
  control::OpenRequest open;
  open.to = self.board.victim_agent;
  open.serial = 1;
  auto link = send::OutLink::create("by-hand", self.attached.pid, open.to,
                                    {self.attached.incarnation, open.serial}, open.contract);
  ASSERT_TRUE(link) << link.error().text;
  self.link.emplace(std::move(*link));
  auto opened = self.client.open(open, self.link->memory().fd());
  ASSERT_TRUE(opened && opened->process) << opened.error().text;
  self.opened = std::move(*opened);
  kAttempts.at(context.number).act(self);
}

// A user outside of the group.
BEELINE_ROLE(stranger) {
  become(kStranger, {});
  const auto agent = Agent::attach(without_start("stranger"));
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().code, ErrorCode::kDenied) << agent.error().text;
}

// The tools' output for a member of the group that is not the user of the hive.
BEELINE_ROLE(member) {
  become(kAttackerUser, {kGroup});
  auto agent = Agent::attach(without_start("member"));
  ASSERT_TRUE(agent) << agent.error().text;
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  for (const std::vector<std::string>& look :
       {std::vector<std::string>{"inbox", "member"}, {"dlq", "ls"}, {"dlq", "ls", "member"}}) {
    std::vector<std::string> words = {"beeline"};
    words.insert(words.end(), look.begin(), look.end());
    const Outcome refused = run(words);
    EXPECT_EQ(refused.code, 7) << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(says(refused.err, "only the user of hive")) << refused.err;
    EXPECT_FALSE(says(refused.err, "shm-dump")) << refused.err;
  }
  const Outcome status = run({"beeline", "status"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_TRUE(says(status.out, "unreadable")) << status.out;
  const Outcome json = run({"beeline", "status", "--json"});
  EXPECT_TRUE(says(json.out, "\"accounts_error\":\"")) << json.out;
  EXPECT_TRUE(says(json.out, "\"balanced\":null")) << json.out;
  const Outcome info = run({"beeline", "info", "victim", "--json"});
  EXPECT_TRUE(says(info.out, "\"accounts_error\":\"")) << info.out;
  EXPECT_TRUE(says(info.out, "\"inbox\":null")) << info.out;
  EXPECT_TRUE(says(info.out, "\"process_error\":null")) << info.out;

  // It may order its own letters by name, while it makes calls.
  for (const char* order : {"requeue", "purge"}) {
    const SendResult sent = agent->send("member", "a letter");
    ASSERT_TRUE(sent);
    next_message(*agent).reject();
    const Outcome nameless = run({"beeline", "dlq", order, id_text(sent.id)});
    EXPECT_EQ(nameless.code, 7) << nameless.err;
    EXPECT_TRUE(says(nameless.err, "names that: ID AGENT")) << nameless.err;
    Program tool({"beeline", "dlq", order, id_text(sent.id), "member"});
    ASSERT_NO_FATAL_FAILURE(drain_until(*agent, [&] { return agent->counters().dead == 0; }));
    const Outcome done = tool.wait();
    EXPECT_EQ(done.code, 0) << done.err;
    if (agent->counters().queued != 0) next_message(*agent).done();
  }
  EXPECT_EQ(agent->counters().done, 1U);
  EXPECT_EQ(agent->counters().purged, 1U);
}

// ---- The tests ----------------------------------------------------------------------------------

class AttemptTest : public OtherUserTest {
 public:
  explicit AttemptTest(std::uint32_t number) : number_(number) {}
  void TestBody() override {
    constexpr int kQuestions = 10;
    const Attempt& attempt = kAttempts.at(number_);
    const std::size_t attacker = troupe().start("attacker", number_);
    if (attempt.goes_on) {
      ASSERT_TRUE(board<UidBoard>().attack_begins.await(1, patience()));
      for (int i = 0; i < kQuestions; ++i) {
        ask_victim_in_its_sleep(std::to_string(i));
        if (i == kQuestions / 2) replace_coordinator();
      }
      board<UidBoard>().attack_may_end.raise();
    }
    troupe().wait(attacker, patience());
    ask_victim("after");
  }

 private:
  std::uint32_t number_;
};

// One test for each attempt, named after it.
const bool kRegistered = [] {
  for (std::uint32_t i = 0; i < kAttempts.size(); ++i) {
    testing::RegisterTest("AnotherUserCannot", kAttempts.at(i).name, nullptr, nullptr, __FILE__,
                          __LINE__, [i]() -> OtherUserTest* { return new AttemptTest(i); });
  }
  return true;
}();

TEST_F(OtherUserTest, AUserOutsideTheGroupIsNotAdmitted) {
  troupe().wait(troupe().start("stranger"), patience());
}

TEST_F(OtherUserTest, AMemberLearnsThatItMayNotReadAndOrdersItsOwnLetters) {
  troupe().wait(troupe().start("member"), patience());
}

// The uid of an agent is known after the death of the coordinator that saw it.
TEST_F(OtherUserTest, HK_108_ANewCoordinatorKnowsTheUserOfEachName) {
  EXPECT_EQ(queen_->find("victim")->uid, kVictimUser);
  replace_coordinator();
  EXPECT_EQ(queen_->find("victim")->uid, kVictimUser);
  const auto* const attempt = std::find_if(
      kAttempts.begin(), kAttempts.end(),
      [](const Attempt& each) { return each.act == take_over_an_agent_of_another_user; });
  troupe().wait(troupe().start("attacker", static_cast<std::uint32_t>(attempt - kAttempts.begin())),
                patience());
  queen_.reset();
  queen_ = attach("queen");
  auto heir = attach("heir");
  ASSERT_TRUE(queen_ && heir);
  EXPECT_EQ(next_message(*heir).text(), "for the heir alone");
}

}  // namespace
}  // namespace beeline::test
