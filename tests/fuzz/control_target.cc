// Packets of clients with descriptors of all kinds, for the parser and the operations of a
// coordinator without a process. Two clients send the packets of the input. All answers can be
// parsed, and an agent that did nothing stays as it was.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fuzz/room.h"
#include "tests/support/bare_hive.h"

namespace beeline::fuzz {
namespace {

using namespace control;

class ParsingOutbox : public test::DeafOutbox {
 public:
  void send(std::uint64_t, std::string text, std::vector<SharedFd>) override {
    FUZZ_DEMAND(text.size() <= kMaxPacketBytes);
    FUZZ_DEMAND(parse_from_coordinator(text));
  }
  [[nodiscard]] bool send_now(std::uint64_t session, const std::string& text) override {
    send(session, text, {});
    return true;
  }
};

constexpr const char* kTexts[] = {"a", "b", "king", "", "queue:x", "3", "a/b", "\xff"};

shm::Incarnation take_life(Feed& feed, const Caller& caller) {
  if (feed.take<std::uint8_t>() % 2 == 0) return caller.incarnation;
  return shm::Incarnation(feed.take<std::uint64_t>());
}

// The request of each kind, filled from the feed.
Request make_request(Feed& feed, const Caller& caller) {
  const auto number = [&] { return feed.take<std::uint8_t>() % 8U; };
  const auto life = [&] { return take_life(feed, caller); };
  const auto text = [&] { return std::string(kTexts[number()]); };
  switch (feed.below(18)) {
    case 0: {
      AttachRequest request;
      request.layout = std::string(kLayoutVersion);
      request.name = text();
      request.parent = text();
      request.temporary = number() % 2 == 0;
      request.pidfd = number() == 0;
      return request;
    }
    case 1:
      return ProvideRequest{number() % 2 == 0};
    case 2:
      return ReadyRequest{};
    case 3: {
      OpenRequest request;
      request.to = number();
      request.serial = number();
      request.contract = kContract;
      if (number() == 0) request.contract.normal_slots = feed.take<std::uint32_t>();
      request.again = number() == 0;
      return request;
    }
    case 4:
      if (number() == 0) return TellRequest{life(), number()};
      return FadeRequest{life(), number(), number() % 2 == 0};
    case 5:
      return DetachRequest{{number(), number()}};
    case 6: {
      ResumeRequest request;
      request.as.layout = std::string(kLayoutVersion);
      request.as.name = text();
      request.pid = number();
      request.incarnation = life();
      request.parent_pid = number();
      request.ready = number() % 2 == 0;
      return request;
    }
    case 7:
      return ReportRequest{text(), number(), life(), number(), number() % 2 == 0};
    case 8:
      if (number() == 0) return HistoryRequest{static_cast<std::int32_t>(number()) - 2};
      return EscalateRequest{text()};
    case 9:
      return ListRequest{number()};
    case 10:
      return LinksRequest{number(), life(), number() % 2 == 0};
    case 11:
      return number() % 2 == 0 ? Request(StatusRequest{}) : Request(DownRequest{});
    case 12:
      return RouteRequest{text(), text()};
    case 13:
      if (number() == 0) return AwaitRequest{text(), number() % 2 == 0};
      return ForgetRequest{text(), number() % 2 == 0};
    case 14:
      return LettersRequest{number(), number() % 2 == 0 ? "purge" : "requeue", life().value(),
                            number(), 0};
    case 15:
      return LettersDoneRequest{number(), life().value(), text()};
    case 16:
      return KeptLettersRequest{life().value()};
    default:
      return KeptLetterRequest{life().value(), number()};
  }
}

class World {
 public:
  explicit World(Feed& feed)
      : feed_(feed), hive_(need(test::BareHive::make(outbox_, kContract.max_payload_bytes))) {
    for (Caller& caller : callers_) caller = need(hive_->connect());
    innocent_ = need(hive_->connect());
    AttachRequest attach;
    attach.layout = std::string(kLayoutVersion);
    attach.name = "innocent";
    say(innocent_, build(Request(attach), 1), {});
    say(innocent_, build(Request(ProvideRequest{true}), 2), sound_segments(innocent_));
    FUZZ_DEMAND(hive_->life_of(innocent_) != nullptr && hive_->life_of(innocent_)->ready);
  }

  void step() {
    Caller& caller = callers_[feed_.below(2)];
    const auto how = feed_.take<std::uint8_t>();
    std::vector<os::UniqueFd> fds = descriptors(caller);
    if (how % 8 == 0) {  // any bytes
      const std::uint32_t length = feed_.below(200);
      std::string text;
      for (std::uint32_t i = 0; i < length; ++i) {
        text += static_cast<char>(feed_.take<std::uint8_t>());
      }
      return say(caller, text, std::move(fds));
    }
    const Request request = make_request(feed_, caller);
    std::string text = build(request, feed_.take<std::uint8_t>());
    if (how % 8 == 1 && !text.empty()) {  // almost a request
      text[feed_.below(static_cast<std::uint32_t>(text.size()))] =
          static_cast<char>(feed_.take<std::uint8_t>());
    }
    say(caller, text, std::move(fds));
  }

  void demand_innocent() {
    const Life* life = hive_->life_of(innocent_);
    FUZZ_DEMAND(life != nullptr && life->ready && !life->ended);
    const Agent* agent = hive_->hive().registry.agent(innocent_.pid);
    FUZZ_DEMAND(hive_->hive().directory.view().agent(agent->index).incarnation ==
                innocent_.incarnation);
    const LinkEntry* link =
        hive_->hive().registry.link_between(innocent_.pid, innocent_.incarnation, 1);
    FUZZ_DEMAND(link == nullptr || !link->ended);
  }

 private:
  void say(Caller& caller, const std::string& text, std::vector<os::UniqueFd> fds) {
    const auto done = hive_->say(caller, text, std::move(fds));
    FUZZ_DEMAND(done || !done.error().text.empty());
  }

  os::UniqueFd scribbled(segment::Owned made) {
    if (feed_.take<std::uint8_t>() % 4 == 0) scribble(feed_, {made.data(), 1024}, 2);
    return need(os::duplicate(made.fd()));
  }
  os::UniqueFd home(const Caller& caller) {
    auto made = need(segment::Owned::create("home", shm::HomeLayout(16).bytes, shm::kPage));
    shm::HomeOptions options;
    options.capacity = 16;
    shm::init_home(shm::Home(made.data(), 16), options, caller.pid, caller.incarnation);
    return scribbled(std::move(made));
  }
  os::UniqueFd status(const Caller& caller) {
    auto made = need(segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes));
    shm::init_status(*reinterpret_cast<shm::StatusPage*>(made.data()), caller.pid,
                     caller.incarnation);
    return scribbled(std::move(made));
  }
  os::UniqueFd link(const Caller& caller) {
    const shm::LinkLayout layout(kContract);
    auto made = need(segment::Owned::create_link("link", layout));
    const shm::LinkKey key{caller.incarnation, feed_.take<std::uint8_t>() % 8U};
    shm::init_link(shm::Link(made.data(), kContract),
                   shm::link_identity(kContract, caller.pid, feed_.take<std::uint8_t>() % 8U, key));
    return scribbled(std::move(made));
  }
  std::vector<os::UniqueFd> sound_segments(const Caller& caller) {
    std::vector<os::UniqueFd> fds;
    auto home = need(segment::Owned::create("home", shm::HomeLayout(16).bytes, shm::kPage));
    shm::HomeOptions options;
    options.capacity = 16;
    shm::init_home(shm::Home(home.data(), 16), options, caller.pid, caller.incarnation);
    auto page = need(segment::Owned::create("status", shm::kStatusBytes, shm::kStatusBytes));
    shm::init_status(*reinterpret_cast<shm::StatusPage*>(page.data()), caller.pid,
                     caller.incarnation);
    fds.push_back(need(os::duplicate(home.fd())));
    fds.push_back(need(os::duplicate(page.fd())));
    fds.push_back(os::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
    return fds;
  }

  // Up to four: those that a request wants, or others.
  std::vector<os::UniqueFd> descriptors(const Caller& caller) {
    std::vector<os::UniqueFd> fds;
    const auto kind = feed_.take<std::uint8_t>();
    if (kind % 4 == 1) {
      fds.push_back(home(caller));
      fds.push_back(status(caller));
      fds.push_back(os::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
      return fds;
    }
    if (kind % 4 == 2) {
      fds.push_back(link(caller));
      return fds;
    }
    for (int i = 0; i < kind % 4 + kind / 128; ++i) fds.push_back(any(caller));
    return fds;
  }
  os::UniqueFd any(const Caller& caller) {
    int ends[2] = {-1, -1};
    switch (feed_.below(9)) {
      case 0:
        FUZZ_DEMAND(::pipe2(ends, O_CLOEXEC) == 0);
        ::close(ends[1]);
        return os::UniqueFd(ends[0]);
      case 1:
        return os::UniqueFd(::eventfd(0, EFD_CLOEXEC));
      case 2:
        return os::UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
      case 3:
        return os::UniqueFd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
      case 4:
        return need(os::create_memfd("fuzz", shm::kStatusBytes));
      case 5:
        return need(os::open_pidfd(::getpid()));
      case 6:
        return home(caller);
      case 7:
        return status(caller);
      default:
        return link(caller);
    }
  }

  Feed& feed_;
  ParsingOutbox outbox_;
  std::unique_ptr<test::BareHive> hive_;
  Caller callers_[2];
  Caller innocent_;
};

BEELINE_FUZZ_TARGET(control) {
  (void)parse_from_coordinator({reinterpret_cast<const char*>(input.data()), input.size()});
  (void)parse_request({reinterpret_cast<const char*>(input.data()), input.size()});
  Feed feed(input);
  World world(feed);
  for (int i = 0; i < 24 && !feed.empty(); ++i) world.step();
  world.demand_innocent();
}

}  // namespace
}  // namespace beeline::fuzz
