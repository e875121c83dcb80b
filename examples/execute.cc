// `execute NAME` counts words for its parent "boss"; `execute` is the boss of two of them.
#include <beeline/agent.h>

#include <iostream>
#include <sstream>
#include <string>

namespace {

int count_for_boss(const std::string& name) {
  const auto end = beeline::after(std::chrono::seconds(30));
  auto agent = beeline::Agent::attach({.name = name, .parent = "boss"});
  if (!agent) return std::cerr << agent.error().text << '\n', 1;
  agent->tasks().handle([](beeline::TaskRun& run) -> std::optional<beeline::TaskResult> {
    std::istringstream words(run.task().context);
    int count = 0;
    for (std::string word; words >> word && !run.is_cancelled();) ++count;
    (void)run.log(run.task().description + ": done");
    return beeline::TaskResult{.output = std::to_string(count)};
  });
  return agent->serve([](beeline::Message&) { return beeline::Ack{}; }, {.until = end}) ? 0 : 1;
}

int be_boss() {
  const auto end = beeline::after(std::chrono::seconds(10));
  auto boss = beeline::Agent::attach({.name = "boss"});
  if (!boss) return std::cerr << boss.error().text << '\n', 1;
  for (const char* name : {"left", "right"}) {
    if (!boss->wait_for(name, end)) return std::cerr << name << " did not come\n", 1;
  }
  const auto progress = [](const beeline::TaskProgress& told) { std::cerr << told.text << '\n'; };
  const beeline::Execution both[] = {
      {"left", {.description = "the first line", .context = "to be or not"}, progress},
      {"right", {.description = "the second line", .context = "to be"}, progress}};
  int sum = 0;
  for (const auto& result : boss->tasks().execute_all(both, end)) {
    if (!result) return std::cerr << result.error().text << '\n', 1;
    sum += std::stoi(result->output);
  }
  std::cout << sum << " words\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc > 1 ? count_for_boss(argv[1]) : be_boss(); }
