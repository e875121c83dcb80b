#include "tests/buffer_flow/flow_fixture.h"

#include <fstream>
#include <iterator>

namespace beeline::test {

void BufferFlow::SetUp() {
  CliTest::SetUp();
  db_ = folder_ + "/buffer.db";
  config_ = folder_ + "/koshi.yaml";
  configure("");
}

void BufferFlow::configure(const std::string& text) const {
  std::ofstream file(config_);
  file << text << '\n';
  if (text.find("buffer:") == std::string::npos) file << "buffer: {batchWindowMs: 10}\n";
}

void BufferFlow::TearDown() {
  buffer_.reset();
  CliTest::TearDown();
}

void BufferFlow::start() {
  buffer_.emplace(with_program({"buffer", "run", "--db", db_, "--config", config_}));
}

void BufferFlow::start_ready() {
  (void)run(with_program({"up"}));
  start();
  Agent agent = attach("ready");
  EXPECT_TRUE(agent.wait_for("buffer", after(kFlowPatience)));
  (void)ask(agent, "buffer.status");
}

std::string BufferFlow::stop(int signal) {
  buffer_->signal(signal);
  const Outcome outcome = buffer_->wait();
  EXPECT_EQ(outcome.code, signal == SIGTERM ? 0 : 128 + signal) << outcome.err;
  return outcome.err;
}

std::string BufferFlow::log() const {
  std::ifstream file("/proc/" + std::to_string(buffer_->pid()) + "/fd/2");
  return {std::istreambuf_iterator<char>(file), {}};
}

Program BufferFlow::actor(const std::string& mode, const std::string& name,
                          const std::string& more) {
  std::vector<std::string> words = {std::string(::getenv("BEELINE_BIN")) + "/tests/buffer-actor",
                                    mode, name};
  if (!more.empty()) words.push_back(more);
  return Program(words);
}

Agent BufferFlow::attach(const std::string& name) {
  AttachOptions options;
  options.name = name;
  options.start_coordinator = false;
  auto agent = Agent::attach(options);
  EXPECT_TRUE(agent) << agent.error().text;
  return std::move(*agent);
}

json BufferFlow::ask(Agent& agent, const std::string& type, const json& request) {
  SendOptions options;
  options.type = type;
  const auto answer = agent.request("buffer", request.dump(), after(kFlowPatience), options);
  EXPECT_TRUE(answer) << answer.error().text;
  return answer ? json::parse(answer->text(), nullptr, false) : json();
}

std::int64_t BufferFlow::put(Agent& agent, const std::string& channel,
                             const std::string& conversation, const std::string& payload,
                             const json& more) {
  json request{{"channel", channel}, {"conversation", conversation}, {"payload", payload}};
  request.update(more);
  const json answer = ask(agent, "buffer.put", request);
  EXPECT_TRUE(answer.contains("id")) << answer;
  return answer.value("id", std::int64_t{0});
}

void BufferFlow::ask_for_batches(Agent& agent, int count) {
  SendOptions options;
  options.type = "buffer.next";
  EXPECT_TRUE(agent.send("buffer", json{{"count", count}}.dump(), options));
}

Message BufferFlow::next(Agent& agent) {
  auto message = agent.receive({.timeout = kFlowPatience});
  EXPECT_TRUE(message) << message.error().text;
  return message ? std::move(*message) : Message();
}

void BufferFlow::await_routed(Agent& agent) {
  await([&] { return ask(agent, "buffer.status").value("unrouted", 1) == 0; });
}

std::string BufferFlow::sql(const std::string& text) const {
  std::string value;
  await([&] {
    value = buffer::run_sql(db_, text);
    return value != "database is locked";
  });
  return value;
}

void BufferFlow::await(const std::function<bool()>& is_over, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!is_over()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    ::usleep(2000);
  }
}

}  // namespace beeline::test
