// Two processes: `two worker` answers, `two` asks.
#include <beeline/agent.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  auto agent = beeline::Agent::attach({.name = argc > 1 ? argv[1] : "asker"});
  if (!agent) return std::cerr << agent.error().text << '\n', 1;
  while (argc > 1) {
    auto task = agent->receive();  // a lease: killed here, the task goes to the next "worker"
    if (!task) return 0;           // the hive has gone down
    task->done(std::string(task->text()) + " = 42");  // the text is the answer
  }
  const auto deadline = beeline::after(std::chrono::seconds(10));
  if (!agent->wait_for("worker", deadline)) return 1;
  const auto answer = agent->request("worker", "6 * 7", deadline);
  std::cout << (answer ? answer->text() : answer.error().text) << '\n';
}
