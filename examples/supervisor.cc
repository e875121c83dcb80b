// Keeps three workers running: starts each as a process, and starts it again when it has died.
#include <beeline/agent.h>

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <string>

namespace {

// Handles messages until the hive goes down. Messages of a killed worker come to its successor.
int work(const std::string& name) {
  auto worker = beeline::Agent::attach({.name = name, .parent = "supervisor"});
  if (!worker) return 1;
  const auto handle = [](beeline::Message& message) -> beeline::Ack {
    return {beeline::AckStatus::kAccepted, std::string(message.text()) + ": done"};
  };
  (void)worker->serve(handle);
  return 0;
}

class Crew {
 public:
  explicit Crew(beeline::Agent& supervisor) : supervisor_(supervisor) {}

  bool start(const std::string& name) {
    const pid_t process = ::fork();
    if (process == 0) ::_exit(work(name));
    // Fails at once, not at the deadline, if that process ends before it has attached.
    const auto deadline = beeline::after(std::chrono::seconds(30));
    if (!supervisor_.wait_for(name, deadline, {.process = process})) return false;
    std::cout << name << " is process " << process << std::endl;
    workers_[process] = name;
    return true;
  }

  // Starts those again that did not end in order.
  bool replace_the_dead() {
    int status = 0;
    for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto worker = workers_.extract(process);
      if (status != 0 && !worker.empty() && !start(worker.mapped())) return false;
    }
    return true;
  }

 private:
  beeline::Agent& supervisor_;
  std::map<pid_t, std::string> workers_;
};

}  // namespace

int main() {
  auto supervisor = beeline::Agent::attach({.name = "supervisor"});
  if (!supervisor) return std::cerr << supervisor.error().text << '\n', 1;
  Crew crew(*supervisor);
  for (int number = 1; number <= 3; ++number) {
    if (!crew.start("worker-" + std::to_string(number))) return 1;
  }
  for (;;) {
    // The notice of a death may come before the kernel lets us wait for that process, so look
    // again.
    auto message =
        supervisor->receive({.timeout = std::chrono::seconds(1), .stop_on_notice = true});
    if (message) {
      message->done();
    } else if (message.error().code != beeline::ErrorCode::kNotice &&
               message.error().code != beeline::ErrorCode::kTimeout) {
      return 0;  // the hive has gone down
    }
    while (supervisor->next_notice()) {  // such as the end of a worker
    }
    if (!crew.replace_the_dead()) return 1;
  }
}
