// An agent in an epoll loop that waits nowhere else: `loop` asks the worker of `two worker`.
#include <beeline/attaching.h>

#include <sys/epoll.h>

#include <algorithm>
#include <iostream>

namespace {

// Waits until something is readable, or until then.
void wait(int epoll, beeline::Deadline until) {
  const auto left = until - std::chrono::steady_clock::now();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  epoll_event event{};
  epoll_wait(epoll, &event, 1, static_cast<int>(std::clamp<long long>(ms, 0, 60'000)));
}

void add(int epoll, int fd) {
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

int main() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const auto end = beeline::after(std::chrono::seconds(30));
  auto attaching = beeline::Attaching::start({.name = "looper"});
  if (!attaching) return std::cerr << attaching.error().text << '\n', 1;
  add(epoll, attaching->fd());
  wait(epoll, end);
  auto agent = attaching->finish();
  if (!agent) return std::cerr << agent.error().text << '\n', 1;

  beeline::EventLoop loop = agent->loop();
  add(epoll, agent->fd());
  if (!loop.find_peer("worker", end)) return 1;  // it may come later
  for (;;) {
    const beeline::Readiness found = loop.poll();  // last before each wait
    if (found.ended) return 0;
    if (found.peers != 0) {
      auto worker = loop.next_peer();
      if (!worker->peer || !loop.request(*worker->peer, "6 * 7", end)) return 1;
    } else if (found.answers != 0) {
      auto answered = loop.next_answer();
      if (answered->answer) std::cout << answered->answer->text() << '\n';
      loop.start_detach(end);
    } else {
      wait(epoll, found.next);
    }
  }
}
