// Two agents of a hive: a queen asks, a worker answers. Elsewhere each is a process of its own.
#include <beeline/agent.h>

#include <iostream>

int main() {
  auto queen = beeline::Agent::attach({.name = "queen"});  // starts the coordinator if none runs
  auto worker = beeline::Agent::attach({.name = "worker", .parent = "queen"});
  if (!queen || !worker) {
    std::cerr << (queen ? worker : queen).error().text << '\n';
    return 1;
  }
  if (!queen->send("worker", "6 * 7 = ?")) return 1;  // ok: it is in the worker's lane for good

  auto task = worker->receive();  // a lease: killed here, the task goes to the next "worker"
  if (!task || !worker->reply(*task, "42")) return 1;
  std::cout << "worker: " << task->text() << '\n';
  task->done();

  auto answer = queen->receive({.timeout = std::chrono::seconds(5)});
  if (!answer) return 1;
  std::cout << "queen: " << answer->text() << '\n';
  answer->done();
}
