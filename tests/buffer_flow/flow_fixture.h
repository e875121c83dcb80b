#pragma once
// A hive with a buffer for each test.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <beeline/agent.h>

#include "tests/buffer/buffer_fixture.h"
#include "tests/process/cli_fixture.h"

namespace beeline::test {

inline constexpr std::chrono::seconds kFlowPatience{60};

class BufferFlow : public CliTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Replaces the configuration for the next start. The window is short unless `text` has one.
  void configure(const std::string& text) const;
  void start();
  // Starts it and waits until it serves.
  void start_ready();
  // Ends it by a signal, and returns its log.
  std::string stop(int signal = SIGTERM);
  // Its log so far. REQUIRES: it runs.
  [[nodiscard]] std::string log() const;
  [[nodiscard]] static Program actor(const std::string& mode, const std::string& name,
                                     const std::string& more = "");

  [[nodiscard]] static Agent attach(const std::string& name);
  // The answer to a request.
  static json ask(Agent& agent, const std::string& type, const json& request = json::object());
  // Puts a message of this channel and conversation; returns its row.
  static std::int64_t put(Agent& agent, const std::string& channel, const std::string& conversation,
                          const std::string& payload, const json& more = json::object());
  static void ask_for_batches(Agent& agent, int count);
  [[nodiscard]] static Message next(Agent& agent);
  // Waits until no message is unrouted.
  static void await_routed(Agent& agent);
  static void await(const std::function<bool()>& is_over,
                    std::chrono::seconds patience = kFlowPatience);
  // A value of the database. A buffer that starts after a kill locks it for a moment.
  [[nodiscard]] std::string sql(const std::string& text) const;
  [[nodiscard]] std::int64_t count(const std::string& table) const {
    return std::stoll(sql("SELECT count(*) FROM " + table));
  }

  std::optional<Program> buffer_;
  std::string db_;
  std::string config_;
};

}  // namespace beeline::test
