#pragma once
// The agents of the hive, as the coordinator lists them.

#include <string_view>
#include <vector>

#include <beeline/agent.h>

#include "src/agent/own_life.h"
#include "src/control/client.h"

namespace beeline {

class Family;
class Registration;

// For one call.
class AgentList {
 public:
  AgentList(const OwnLife& life, control::Client& client, Registration& registration,
            const Family& family)
      : life_(life), client_(client), registration_(registration), family_(family) {}

  [[nodiscard]] Result<std::vector<AgentInfo>> siblings();
  [[nodiscard]] Result<std::vector<AgentInfo>> children(bool recursive);
  [[nodiscard]] Result<AgentInfo> info(Pid pid);
  [[nodiscard]] Result<AgentInfo> find(std::string_view name);

 private:
  [[nodiscard]] Result<std::vector<AgentInfo>> everybody();

  const OwnLife& life_;
  control::Client& client_;
  Registration& registration_;
  const Family& family_;
};

}  // namespace beeline
