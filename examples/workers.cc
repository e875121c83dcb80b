// A lead starts three workers as processes, waits until each is there, and asks all at once.
#include <beeline/agent.h>

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::string name_of(int number) { return "worker-" + std::to_string(number); }

// Answers one question: the text of an Ack is the answer.
int work(int number) {
  auto worker = beeline::Agent::attach({.name = name_of(number), .parent = "lead"});
  if (!worker) return 1;
  const auto handle = [&](beeline::Message& message) -> beeline::Ack {
    return {beeline::AckStatus::kAccepted,
            std::string(message.text()) + " of " + worker->name() + ": done"};
  };
  return worker->serve(handle, {.until = beeline::after(60s), .most = 1}) ? 0 : 1;
}

}  // namespace

int main() {
  auto lead = beeline::Agent::attach({.name = "lead"});
  if (!lead) {
    std::cerr << lead.error().text << '\n';
    return 1;
  }
  for (int number = 1; number <= 3; ++number) {
    const pid_t process = ::fork();
    if (process == 0) _exit(work(number));
    // Fails at once, not at the deadline, if that process ends before it has attached.
    const auto there = lead->wait_for(name_of(number), beeline::after(30s), {.process = process});
    if (!there) {
      std::cerr << there.error().text << '\n';
      return 1;
    }
  }
  // One deadline for all; each has a result of its own, in this order.
  const auto answers = lead->request_all(
      {{"worker-1", "the first part"}, {"worker-2", "the second part"}, {"worker-3", "the rest"}},
      beeline::after(60s));
  for (const auto& answer : answers) {
    std::cout << (answer ? std::string(answer->text()) : answer.error().text) << '\n';
  }
  while (::wait(nullptr) > 0) {
  }
}
