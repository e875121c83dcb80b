// The effects of an agent on its process: the numbers of its descriptors, and the limit of open
// files.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>

#include "src/os/process.h"
#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

constexpr std::string_view kOrder = "{\"op\":\"down\",\"seq\":1}";
constexpr std::uint64_t kSoftLimit = 256;

// The standard streams of this process are closed while it exists.
class ClosedStreams {
 public:
  ClosedStreams() {
    for (int i = 0; i < 3; ++i) {
      saved_[static_cast<std::size_t>(i)] = ::fcntl(i, F_DUPFD_CLOEXEC, 100);
      ::close(i);
    }
  }
  ~ClosedStreams() {
    for (int i = 0; i < 3; ++i) ::dup2(saved_[static_cast<std::size_t>(i)], i);
  }
  ClosedStreams(const ClosedStreams&) = delete;
  ClosedStreams& operator=(const ClosedStreams&) = delete;

  // How many of the standard streams are open again.
  static int opened() {
    int count = 0;
    for (int i = 0; i < 3; ++i) count += ::fcntl(i, F_GETFD) >= 0 ? 1 : 0;
    return count;
  }

 private:
  std::array<int, 3> saved_{};
};

void answer_one() {
  auto other = Agent::attach(named("other"));
  if (!other) return;
  auto question = other->receive({.timeout = kPatience});
  if (!question) return;
  (void)other->reply(*question, question->text());
  question->done();
}

BEELINE_ROLE(without_streams) {
  const std::string large(100'000, 'x');  // takes a slab
  std::string answer;
  std::string refused;
  int opened = 0;
  {
    const ClosedStreams streams;
    auto agent = Agent::attach(named("bare"));
    std::thread other(answer_one);
    if (agent) {
      (void)agent->send("bare", large);
      if (auto own = agent->receive({.timeout = kPatience})) own->done();
      const Peer peer = peer_of(*agent, "other");
      if (auto reply = agent->request(peer, large, patience())) answer = reply->text();
      opened = ClosedStreams::opened();
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        if (::write(stream, kOrder.data(), kOrder.size()) >= 0) refused += " written";
      }
      if (!agent->info()) refused += " no connection";
    }
    other.join();
  }
  EXPECT_EQ(answer, large);
  EXPECT_EQ(opened, 0) << "descriptors of ours with the number of a standard stream";
  EXPECT_EQ(refused, "");
}

// The limit as a child sees it.
int soft_limit_is_low() { return os::fd_limit().soft == kSoftLimit ? 0 : 1; }

BEELINE_ROLE(with_a_low_limit) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = kSoftLimit;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  AttachOptions options = named("select-user");
  options.raise_fd_limit = false;
  auto quiet = attach(options);
  EXPECT_EQ(os::fd_limit().soft, kSoftLimit);
  auto agent = attach("many-peers");
  EXPECT_EQ(os::fd_limit().soft, limit.rlim_max);
  int status = -1;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(soft_limit_is_low());
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a child made by fork";
  const auto program = os::spawn({"/bin/sh", "-c", "test $(ulimit -Sn) = 256"});
  ASSERT_TRUE(program);
  ASSERT_EQ(::waitpid(*program, &status, 0), *program);
  EXPECT_EQ(status, 0) << "a program that the library starts";
  EXPECT_EQ(os::fd_limit().soft, limit.rlim_max) << "ours stays";
}

class OwnProcess : public HiveTest {
 protected:
  void SetUp() override { start(World::kProcesses, 120s, 4096); }
};

// A14
TEST_F(OwnProcess, NoDescriptorOfOursHasTheNumberOfAClosedStream) {
  troupe().wait(troupe().start("without_streams"), patience());
}

// A15
TEST_F(OwnProcess, TheLimitOfOpenFilesIsRaisedForThisProcessAloneAndNotAtAllIfAsked) {
  troupe().wait(troupe().start("with_a_low_limit"), patience());
}

}  // namespace
}  // namespace beeline::test
