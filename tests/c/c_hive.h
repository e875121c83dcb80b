#pragma once
// A hive for tests of the C interface, and agents in it.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include <beeline/c.h>

#include "tests/support/hive_test.h"
#include "tests/support/scratch_hive.h"

namespace beeline::test {

inline constexpr std::int64_t kLong = 60'000'000'000;  // only bounds a failure

struct Close {
  void operator()(beeline_agent* agent) const { beeline_close(agent); }
};
using CAgent = std::unique_ptr<beeline_agent, Close>;

#define EXPECT_OK(call) EXPECT_EQ(call, BEELINE_OK) << beeline_error_text()
#define ASSERT_OK(call) ASSERT_EQ(call, BEELINE_OK) << beeline_error_text()
#define EXPECT_SAYS(part) \
  EXPECT_NE(std::string(beeline_error_text()).find(part), std::string::npos) << beeline_error_text()

class CHive : public testing::Test {
 protected:
  void TearDown() override {
    expect_balance_of_all(hive_);
    hive_.close();
  }

  // How many pids the hive has given out.
  [[nodiscard]] std::uint64_t pids_used() { return hive_.client().status()->pids_used; }

  static CAgent attach_c(const char* name, const char* parent = nullptr) {
    beeline_attach_options options;
    beeline_attach_options_init(&options);
    options.name = name;
    options.parent = parent;
    beeline_agent* agent = nullptr;
    EXPECT_OK(beeline_attach(&options, &agent));
    return CAgent(agent);
  }
  static beeline_peer find(const CAgent& agent, const std::string& name) {
    beeline_peer peer{};
    EXPECT_OK(beeline_find_peer(agent.get(), name.data(), name.size(), &peer));
    return peer;
  }
  // Sends a text to itself, and takes it.
  static beeline_message* message_of(const CAgent& agent) {
    beeline_message* message = nullptr;
    const beeline_peer self = beeline_peer_of(beeline_agent_pid(agent.get()));
    EXPECT_OK(beeline_send(agent.get(), self, "text", 4, kLong, nullptr, nullptr));
    EXPECT_OK(beeline_receive(agent.get(), kLong, nullptr, &message));
    return message;
  }

 private:
  ScratchHive hive_;
};

}  // namespace beeline::test
