#pragma once

#include <vector>

#include <beeline/c/hive.h>
#include <beeline/registry.h>
#include <beeline/result.h>

namespace beeline::c {

// Gives the caller a list, or the code of the error.
beeline_code list_agents(Result<std::vector<AgentInfo>> found, beeline_agents** agents);
beeline_code list_agent(Result<AgentInfo> found, beeline_agents** agents);

}  // namespace beeline::c
