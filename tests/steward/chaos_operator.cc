#include "tests/steward/chaos_operator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/support/hive_test.h"

namespace beeline::steward::test {

namespace {

using beeline::test::kPatience;
using NewsJson = nlohmann::json;

constexpr int kMostCodes = 90;

}  // namespace

SpawnOptions chaos_child(const std::string& ledger, const std::string& name, const std::string& key,
                         int code, const std::string& mode) {
  SpawnOptions options;
  options.name = name;
  options.role = "lead";
  options.key = key;
  options.restart = "never";
  options.command = {std::filesystem::read_symlink("/proc/self/exe"), std::string(kChildFlag), key,
                     std::to_string(code), mode};
  options.environment = {{kChaosVariable, ledger}};
  options.ready_within = kPatience;
  options.grace = kPatience;
  return options;
}

bool Progress::await(std::uint64_t more) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience,
                           [&, wanted = steps_ + more] { return steps_ >= wanted; });
}

Operator::Operator(std::string name, std::uint64_t seed, ChaosLedger& ledger, Progress& progress)
    : name_(std::move(name)), random_(seed), ledger_(ledger), progress_(progress) {
  AttachOptions options;
  options.name = name_;
  options.role = "lead";
  auto agent = Agent::attach(options);
  EXPECT_TRUE(agent) << agent.error().text;
  if (agent) agent_ = std::move(*agent);
}

void Operator::work(const std::atomic<bool>& is_over) {
  while (!is_over && !testing::Test::HasFailure()) do_job();
}

std::optional<SpawnedChild> Operator::spawn(const std::string& name, const std::string& key,
                                            int code, const std::string& mode) {
  const SpawnOptions options = chaos_child(ledger_.path(), name, key, code, mode);
  const auto first = agent_->processes().spawn(options);
  progress_.step();
  if (draw(3) == 1) {
    const auto again = agent_->processes().spawn(options);
    EXPECT_EQ(again.has_value(), first.has_value()) << key;
    if (first && again) {
      EXPECT_EQ(again->pid, first->pid) << key;
      EXPECT_EQ(again->os_pid, first->os_pid) << key;
    } else if (!first && !again) {
      EXPECT_EQ(again.error().text, first.error().text) << key;
    }
  }
  if (first) return *first;
  const std::string& text = first.error().text;
  const bool is_due = mode == "absent" && text.find("exited with status " + std::to_string(code) +
                                                    " before it was ready") != std::string::npos;
  const bool is_killed =
      ledger_.was_killed(key) && text.find("signal 9 ended it") != std::string::npos;
  EXPECT_TRUE(is_due || is_killed) << key << " " << mode << ": " << text;
  EXPECT_EQ(ledger_.count_runs(key), 1U) << key;
  ledger_.close(key);
  return std::nullopt;
}

void Operator::nest(const SpawnedChild& child, const std::string& child_key,
                    const std::string& name, const std::string& key) {
  const int code = draw(kMostCodes);
  if (draw(2) == 1) {
    // It may be dead, and its request may come after its death.
    const std::string order = name + " " + key + " " + std::to_string(code);
    (void)agent_->request_then(To(child.pid), order, after(kPatience), [](const auto&) {});
    return;
  }
  SpawnOptions options = chaos_child(ledger_.path(), name, key, code, "serve");
  options.parent = std::to_string(child.pid);
  const auto spawned = agent_->processes().spawn(options);
  progress_.step();
  const bool is_killed = ledger_.was_killed(child_key) || ledger_.was_killed(key);
  EXPECT_TRUE(spawned || is_killed) << key << ": " << spawned.error().text;
}

void Operator::end(const SpawnedChild& child) {
  // A send fails if the child is dead, or while the coordinator that has to open the link is.
  if (draw(2) == 1 && agent_->send(To(child.pid), "end")) return;
  const auto killed = agent_->processes().kill(To(child.pid));
  EXPECT_TRUE(killed) << child.name << ": " << killed.error().text;
  progress_.step();
}

void Operator::wait(const std::string& child, const std::string& key) {
  const auto end = agent_->processes().wait(child, kPatience);
  ledger_.close(key);
  progress_.step();
  ASSERT_TRUE(end) << key << ": " << end.error().text;
  const std::string lie = ledger_.find_lie(key, *end);
  EXPECT_EQ(lie, "") << key << ": pid 1 says code " << end->exit_code << ", signal " << end->signal
                     << ", " << end->reason << "; output: " << end->output;
  ends_[end->pid] = *end;
  if (draw(4) != 1) return;
  const auto again = agent_->processes().wait(To(end->pid), kPatience);
  ASSERT_TRUE(again) << key << ": " << again.error().text;
  EXPECT_EQ(again->exit_code, end->exit_code) << key;
  EXPECT_EQ(again->signal, end->signal) << key;
  EXPECT_EQ(again->reason, end->reason) << key;
}

// The child below may never have started, or have outlived its parent.
void Operator::end_below(const std::string& name, const std::string& key) {
  const auto killed = agent_->processes().kill(name);
  const bool is_known = killed || killed.error().code == ErrorCode::kNoAgent;
  EXPECT_TRUE(is_known) << key << ": " << killed.error().text;
  if (!killed || ledger_.count_runs(key) == 0) return;
  const auto listed = agent_->processes().list(/*recursive=*/true);
  ASSERT_TRUE(listed) << listed.error().text;
  const auto found = std::ranges::find(*listed, name, &ChildInfo::name);
  if (found != listed->end() && found->end) wait(name, key);
}

void Operator::do_job() {
  const std::string key = next_key();
  const std::string name = name_ + "-" + std::to_string(draw(kNames));
  const int kind = draw(10);
  const std::string mode = kind == 1 ? "absent" : kind == 2 ? "brief" : "serve";
  const auto child = spawn(name, key, draw(kMostCodes), mode);
  if (!child) return;
  const std::string below = name + "-below";
  const bool is_nest = kind == 3;
  if (is_nest) nest(*child, key, below, key + "-below");
  if (mode == "serve") end(*child);
  wait(std::to_string(child->pid), key);
  if (is_nest) end_below(below, key + "-below");
  check_news();
}

void Operator::tidy() {
  for (int i = 1; i <= kNames; ++i) {
    for (const char* const more : {"", "-below"}) {
      const std::string key = next_key();
      const std::string name = name_ + "-" + std::to_string(i) + more;
      const auto child = spawn(name, key, draw(kMostCodes), "brief");
      if (child) wait(std::to_string(child->pid), key);
    }
  }
  check_news();
}

void Operator::check_news() {
  while (auto message = agent_->try_receive()) {
    EXPECT_EQ(message->type(), "child_exited");
    const NewsJson news = NewsJson::parse(message->text());
    const auto found = ends_.find(news["pid"].get<Pid>());
    if (found != ends_.end()) {
      EXPECT_EQ(news["exit_code"].get<int>(), found->second.exit_code) << news;
      EXPECT_EQ(news["signal"].get<int>(), found->second.signal) << news;
    }
    message->done();
  }
  // Answers for nobody: to the orders of nest(), and those that pid 1 gave a second time. Each
  // holds the link that it came by.
  (void)agent_->run_answers();
  for (Message& late : agent_->drain_pending_results()) late.done();
}

}  // namespace beeline::steward::test
