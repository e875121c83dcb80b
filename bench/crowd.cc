#include "bench/crowd.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "bench/pair.h"
#include "src/os/clock.h"
#include "src/os/error.h"
#include "src/os/futex.h"

namespace beeline::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(120);  // for one step of the lead
constexpr unsigned kMostSeconds = 3600;                // of a process

[[noreturn]] void run_process(CrowdPage& page, pid_t parent, const Crowd::Play& play) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent ended before we asked
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kMostSeconds);
  Result<void> done = play(page);
  if (done) ::_exit(0);
  if (page.failed.exchange(1) == 0) {
    done.error().text.copy(page.failure.data(), page.failure.size() - 1);
  }
  make_step(page);
  ::_exit(1);
}

// Waits for this message to the lead. Errors: kSystem (another one came).
Result<void> await_word(Agent& agent, std::string_view due, Pid* from = nullptr) {
  const auto text = hear_one(agent, from);
  if (!text) return tl::unexpected(text.error());
  if (*text == due) return {};
  return fail(ErrorCode::kSystem, fmt::format("\"{}\" came where \"{}\" was due", *text, due));
}

}  // namespace

Result<Crowd> Crowd::create() {
  void* const memory =
      ::mmap(nullptr, sizeof(CrowdPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return os::system_failure("map the memory of the measurement");
  return Crowd(new (memory) CrowdPage());
}

Crowd::Crowd(Crowd&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), processes_(std::exchange(other.processes_, {})) {}

Crowd::~Crowd() {
  for (const pid_t process : processes_) ::kill(process, SIGKILL);
  for (const pid_t process : processes_) {
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (page_ != nullptr) ::munmap(page_, sizeof(CrowdPage));
}

Result<pid_t> Crowd::start(const Play& play) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) run_process(*page_, parent, play);
  if (child < 0) return os::system_failure(fmt::format("fork process {}", processes_.size() + 1));
  processes_.push_back(child);
  return child;
}

void Crowd::await_end(pid_t process) {
  siginfo_t end{};
  // finish() still needs the exit status.
  while (::waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

Result<void> Crowd::failure() const {
  if (page_->failed.load() == 0) return {};
  return fail(ErrorCode::kSystem, std::string(page_->failure.data()));
}

bool Crowd::has_casualty() const {
  return std::any_of(processes_.begin(), processes_.end(), [](pid_t process) {
    siginfo_t end{};
    const auto id = static_cast<id_t>(process);
    const bool known = ::waitid(P_PID, id, &end, WEXITED | WNOHANG | WNOWAIT) == 0;
    return known && end.si_pid == process && (end.si_code != CLD_EXITED || end.si_status != 0);
  });
}

Result<void> Crowd::await_steps(std::uint32_t steps) {
  const std::int64_t end = os::monotonic_ns() + std::chrono::nanoseconds(kPatience).count();
  for (;;) {
    const std::uint32_t made = page_->steps.load();
    if (auto failed = failure(); !failed) return failed;
    if (made >= steps) return {};
    const std::int64_t left = end - os::monotonic_ns();
    if (left <= 0) {
      return fail(ErrorCode::kTimeout,
                  fmt::format("{} steps of {} were made in time, with {} processes", made, steps,
                              processes_.size()));
    }
    // A killed process makes no step, so look now and then.
    const auto nap = std::chrono::nanoseconds(std::min<std::int64_t>(left, 1'000'000'000));
    if (os::futex_wait(&page_->steps, made, nap) == os::WaitOutcome::kTimeout && has_casualty()) {
      return fail(ErrorCode::kSystem, "a process of the crowd was killed");
    }
  }
}

Result<void> Crowd::order(std::uint32_t task) {
  const std::uint32_t made = page_->steps.load();
  page_->task.store(task);
  page_->order.fetch_add(1);
  (void)os::futex_wake_all(&page_->order);
  return await_steps(made + 1);
}

Result<void> Crowd::finish() {
  bool all_good = true;
  for (const pid_t process : processes_) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    all_good = all_good && status == 0;
  }
  processes_.clear();
  if (auto failed = failure(); !failed) return failed;
  return all_good ? Result<void>() : fail(ErrorCode::kSystem, "a process of the crowd was killed");
}

void make_step(CrowdPage& page) {
  page.steps.fetch_add(1);
  (void)os::futex_wake_all(&page.steps);
}

void await_order(CrowdPage& page, std::uint32_t count) {
  for (;;) {
    const std::uint32_t given = page.order.load();
    if (given >= count) return;
    (void)os::futex_wait(&page.order, given, std::chrono::nanoseconds::max());
  }
}

Result<void> say(Agent& agent, Peer to, std::string_view text) {
  const SendResult sent = agent.send_until(to, text, after(kPatience));
  if (sent) return {};
  return fail(ErrorCode::kSystem, fmt::format("send: {}", to_string(sent.status)));
}

Result<Message> next_message(Agent& agent, bool polls) {
  while (polls) {
    if (auto message = agent.try_receive()) return std::move(*message);
  }
  return agent.receive();
}

std::string member_name(std::size_t number) { return fmt::format("member-{}", number); }

Result<void> play_member(CrowdPage& page, std::size_t number, const Case& what, const Hear& hear) {
  AttachOptions options;
  options.name = member_name(number);
  options.parent = kLeadName;
  options.temporary = true;
  options.start_coordinator = false;
  options.wait = what.mode;
  const std::int64_t start = os::monotonic_ns();
  auto agent = Agent::attach(options);
  if (!agent) return tl::unexpected(agent.error());
  const std::int64_t attached = os::monotonic_ns();
  const auto lead = agent->peer(kLeadName);
  if (!lead) return tl::unexpected(lead.error());
  page.attach_ns[number] = attached - start;
  page.link_ns[number] = os::monotonic_ns() - attached;
  if (auto pinned = pin(what.cpus.pong); !pinned) return pinned;
  if (auto said = say(*agent, *lead, kHello); !said) return said;
  for (bool polls = false;;) {
    auto message = next_message(*agent, polls);
    if (!message) return tl::unexpected(message.error());
    const std::string text(message->text());
    if (text == kAwake || text == kAsleep) polls = text == kAwake;
    Result<bool> is_heard = false;
    if (text != kBye && hear) is_heard = hear(*agent, *lead, *message);
    message->done();
    if (!is_heard) return tl::unexpected(is_heard.error());
    if (*is_heard) continue;
    if (auto said = say(*agent, *lead, text); !said) return said;
    if (text == kBye) break;
  }
  agent->detach(after(kPatience));
  return {};
}

Result<void> play_caller(CrowdPage&) {
  AttachOptions options;
  options.temporary = true;
  options.start_coordinator = false;
  auto agent = Agent::attach(options);
  if (!agent) return tl::unexpected(agent.error());
  const auto lead = agent->peer(kLeadName);
  if (!lead) return tl::unexpected(lead.error());
  if (auto said = say(*agent, *lead, kHello); !said) return said;
  agent->detach(after(kPatience));
  return {};
}

Result<Agent> attach_lead(const Case& what) {
  AttachOptions options;
  options.name = kLeadName;
  options.temporary = true;
  options.start_coordinator = false;
  options.wait = what.mode;
  auto agent = Agent::attach(options);
  if (!agent) return agent;
  if (auto pinned = pin(what.cpus.ping); !pinned) return tl::unexpected(pinned.error());
  return agent;
}

Result<std::string> hear_one(Agent& agent, Pid* from) {
  for (;;) {
    auto message = agent.receive();
    if (!message) return tl::unexpected(message.error());
    std::string text(message->text());
    if (from != nullptr) *from = message->from();
    const bool is_copy = message->is_copy();
    message->done();
    if (!is_copy) return text;
  }
}

Result<Pid> await_hello(Agent& agent) {
  Pid from = 0;
  if (auto heard = await_word(agent, kHello, &from); !heard) return tl::unexpected(heard.error());
  return from;
}

Result<void> say_goodbye(Agent& agent, const std::vector<Peer>& members) {
  for (const Peer& member : members) {
    if (auto said = say(agent, member, kBye); !said) return said;
  }
  for (std::size_t left = members.size(); left > 0; --left) {
    if (auto heard = await_word(agent, kBye); !heard) return heard;
  }
  return {};
}

}  // namespace beeline::bench
