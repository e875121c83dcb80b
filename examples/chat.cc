// An agent in a program's own event loop: `chat ME YOU` sends typed lines and prints messages.
#include <beeline/agent.h>

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <string>

namespace {

constexpr int kTyped = STDIN_FILENO;

// Takes all messages, because peers signal the descriptor again only after that. False at the end
// of the hive.
bool print_all(beeline::Agent& agent) {
  while (auto message = agent.try_receive()) {
    std::cout << message->from_name() << ": " << message->text() << std::endl;
    message->done("read");  // the answer, if it was a request
  }
  while (const auto notice = agent.next_notice()) {
    if (notice->kind == beeline::Notice::Kind::kShutdown) return false;
  }
  return true;
}

// False at the end of the input.
bool send_typed(beeline::Agent& agent, const std::string& to) {
  std::array<char, 1024> text{};
  const ssize_t count = ::read(kTyped, text.data(), text.size());
  if (count <= 0) return false;
  const bool has_end = text[static_cast<std::size_t>(count) - 1] == '\n';
  const std::string line(text.data(), static_cast<std::size_t>(count - (has_end ? 1 : 0)));
  if (const auto sent = agent.send(to, line); !sent) std::cerr << sent.text() << std::endl;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: chat ME YOU\n", 2;
  auto agent = beeline::Agent::attach({.name = argv[1]});
  if (!agent) return std::cerr << agent.error().text << '\n', 1;
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {kTyped, agent->fd()}) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = fd;
    if (::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &wanted) != 0) return 1;
  }
  while (print_all(*agent)) {
    epoll_event ready{};
    if (::epoll_wait(loop, &ready, 1, -1) < 0) return 1;
    if (ready.data.fd == kTyped && !send_typed(*agent, argv[2])) return 0;
  }
}
