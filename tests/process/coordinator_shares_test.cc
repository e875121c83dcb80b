// The share of a hive that one user may take, and the rest that stays for other users.

#include <grp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <thread>

#include "coordinator_fixture.h"

namespace beeline::control {
namespace {

constexpr uid_t kGuest = 65534;
constexpr uid_t kSecondGuest = 65533;
constexpr gid_t kGuests = 65500;
constexpr rlim_t kFewFiles = 512;

class SharesOfHiveTest : public CoordinatorTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "connections of other users can be made by root alone";
    CoordinatorTest::SetUp();
    ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
    start({"--group", std::to_string(kGuests)});
    owner_.emplace(connect());
    const auto status = owner_->status();
    ASSERT_TRUE(is_ok(status));
    coordinator_ = status->coordinator_pid;
    limit(kFewFiles);
  }
  void TearDown() override {
    for (const pid_t guest : guests_) kill_child(guest);
    if (!root_.empty()) CoordinatorTest::TearDown();
  }

  void limit(rlim_t files) const {
    rlimit limit{};
    ASSERT_EQ(::prlimit(coordinator_, RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = std::min(files, limit.rlim_max);
    ASSERT_EQ(::prlimit(coordinator_, RLIMIT_NOFILE, &limit, nullptr), 0);
  }

  // Runs `body` as another user. That process keeps everything that it made until the test ends.
  // Returns the result of the body.
  int as_guest(uid_t user, const std::function<int()>& body) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool became = ::setgroups(1, &kGuests) == 0 && ::setresgid(user, user, user) == 0 &&
                          ::setresuid(user, user, user) == 0;
      const int found = became ? body() : -1;
      (void)!::write(ends[1], &found, sizeof found);
      for (;;) ::pause();
    }
    guests_.push_back(child);
    int found = -1;
    ::close(ends[1]);
    EXPECT_EQ(::read(ends[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
    ::close(ends[0]);
    return found;
  }

  // Attaches temporary agents until one is refused. Returns how many were attached.
  static int attach_many(std::string& refusal) {
    static std::vector<TestAgent> agents;
    for (;;) {
      TestAgent& next = agents.emplace_back();
      auto attached = next.attach(AttachRequest());
      if (attached) attached = next.provide(true);
      if (attached) continue;
      refusal = attached.error().text;
      return static_cast<int>(agents.size()) - 1;
    }
  }
  static int attach_all() {
    std::string refusal;
    const int count = attach_many(refusal);
    const bool says_why = refusal.find("its share is") != std::string::npos &&
                          refusal.find("beeline forget") != std::string::npos;
    return says_why ? count : -1;
  }

  // Connects without sending anything until it is refused. Returns how many connections there are.
  static int connect_all() {
    static std::vector<os::PacketSocket> sockets;
    const std::string path = std::string(std::getenv("BEELINE_DIR")) + "/socket";
    for (;;) {
      auto socket = os::PacketSocket::connect(path);
      if (!socket) return -1;
      const std::string text = build(Request(StatusRequest()), 1);
      (void)socket->try_send(text);
      const auto answer = socket->receive(kMaxPacketBytes, kLong);
      const bool served =
          answer && *answer && (*answer)->text.find("\"status\"") != std::string::npos;
      if (!served) return static_cast<int>(sockets.size());
      sockets.push_back(std::move(*socket));
    }
  }

  // Asks after its connection was refused, and connects again. Returns how often it got the
  // reason.
  static int be_told_why() {
    auto client = Client::connect();
    if (!client) return -1;
    pollfd end{client->fd(), 0, 0};
    if (::poll(&end, 1, 20'000) != 1) return -1;
    const auto says_why = [](const auto& result) {
      return !result && result.error().text.find("its share") != std::string::npos ? 1 : 0;
    };
    return says_why(client->status()) + says_why(client->try_reconnect(kLong));
  }

  // Attaches an agent, gets its connection dropped before it reads the answer, and repeats this
  // until a connection is refused. Returns how many connections hold an answer then. Once `let_go`
  // is signalled, half of them are read to the end and the others closed.
  static int be_dropped_unread(int let_go) {
    static std::vector<os::PacketSocket> sockets;
    const std::string path = std::string(std::getenv("BEELINE_DIR")) + "/socket";
    for (std::size_t count = 0; count < 2 * kFewFiles; ++count) {
      auto socket = os::PacketSocket::connect(path);
      if (!socket) return -1;
      (void)socket->try_send(build(Request(AttachRequest(named("again"))), 1));
      if (!os::wait_readable(socket->fd(), kLong)) return -1;
      std::array<char, 4096> start{};  // peeking at a packet does not receive its descriptors
      ssize_t length = -1;
      do {
        length = ::recv(socket->fd(), start.data(), start.size(), MSG_PEEK);
        // A coordinator that refuses a connection closes it and may not have read the request. The
        // kernel says that once, before the packet with the reason.
      } while (length < 0 && errno == ECONNRESET);
      const std::string answer(start.data(),
                               static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
      if (answer.find("its share is") != std::string::npos) {
        std::thread([let_go] {
          (void)os::wait_readable(let_go, std::chrono::nanoseconds::max());
          for (std::size_t i = 0; i < sockets.size(); ++i) {
            while (i % 2 == 0 && sockets[i].try_receive(kMaxPacketBytes)) continue;
            if (i % 2 != 0) sockets[i].close();
          }
        }).detach();
        return static_cast<int>(count);
      }
      if (count % 2 == 0) {
        (void)socket->try_send("no request");
      } else {
        ::shutdown(socket->fd(), SHUT_WR);  // looks to the coordinator as if it had closed
      }
      pollfd end{socket->fd(), 0, 0};
      if (::poll(&end, 1, 20'000) != 1) return -1;
      sockets.push_back(std::move(*socket));
    }
    return -1;
  }

  std::optional<Client> owner_;
  pid_t coordinator_ = 0;
  std::vector<pid_t> guests_;
};

TEST_F(SharesOfHiveTest, AGuestThatTakesAllPlacesItCanLeavesSomeToEverybodyElse) {
  const int first = as_guest(kGuest, attach_all);
  const int second = as_guest(kSecondGuest, attach_all);
  ASSERT_GT(first, 10);
  EXPECT_GT(second, first / 3) << "a newcomer gets about half of what is left";
  EXPECT_LE(second, first);
  // The user of the hive has the rest, to the last one.
  std::vector<TestAgent> mine;
  Result<void> attached;
  while (attached) {
    attached = mine.emplace_back().attach(named("mine-" + std::to_string(mine.size())));
    if (attached) attached = mine.back().provide(true);
  }
  EXPECT_GT(static_cast<int>(mine.size()), second / 3);
  EXPECT_TRUE(has_error(attached, ErrorCode::kFull, "beeline forget"));
}

// Links of dead agents stay until they are read.
TEST_F(SharesOfHiveTest, AGuestWhoseSendersEndUnreadTakesNotAllLinks) {
  TestAgent reader = agent(named("reader"));
  const Pid to = reader.pid();
  const int sent = as_guest(kGuest, [to] {
    for (int count = 0;; ++count) {
      TestAgent sender;
      const bool attached = sender.attach(AttachRequest()) && sender.provide(true);
      if (!attached) return -1;
      const auto opened = sender.open(to);
      if (!opened) return opened.error().code == ErrorCode::kFull ? count : -1;
      sender.publish(1, 0);
      if (!sender.client.detach({})) return -1;
    }
  });
  EXPECT_GT(sent, 20);
  EXPECT_LT(sent, static_cast<int>(kFewFiles) / 3);
  TestAgent sender = agent(named("sender"));
  EXPECT_TRUE(is_ok(sender.open(to)));
  EXPECT_TRUE(is_ok(reader.open(sender.pid())));
}

// A link back is always admitted, once for each link that it answers.
TEST_F(SharesOfHiveTest, OneLinkToAGuestLetsNotInThoseOfAllItsLives) {
  TestAgent reader = agent(named("reader"));
  const int first = as_guest(kGuest, [] {
    static TestAgent life;
    return life.attach(named("again")) && life.provide(true) ? static_cast<int>(life.pid()) : -1;
  });
  ASSERT_GT(first, 0);
  ASSERT_TRUE(is_ok(reader.open(static_cast<Pid>(first))));
  kill_child(guests_.back());
  guests_.pop_back();
  const Pid to = reader.pid();
  const int opened = as_guest(kGuest, [to] {
    std::string refusal;
    (void)attach_many(refusal);  // from here on only links back can be opened
    for (int count = 0;; ++count) {
      TestAgent life;
      const bool attached = life.attach(named("again")) && life.provide(true);
      if (!attached) return -1;
      const auto sent = life.open(to);
      if (!sent) return sent.error().text.find("its share") != std::string::npos ? count : -1;
      life.publish(1, 0);
      if (!life.client.detach({})) return -1;
    }
  });
  EXPECT_EQ(opened, 1);
  const int yourself = as_guest(kSecondGuest, [] {
    for (int count = 0;; ++count) {
      TestAgent life;
      if (!life.attach(named("self")) || !life.provide(true)) return -1;
      const auto sent = life.open(life.pid());
      if (!sent) return sent.error().text.find("its share") != std::string::npos ? count : -1;
      life.publish(1, 0);
      if (!life.client.detach({})) return -1;
    }
  });
  EXPECT_GT(yourself, 1) << "or refused for another reason than the share";
  EXPECT_TRUE(is_ok(TestAgent(agent(named("newcomer"))).open(to)));
}

TEST_F(SharesOfHiveTest, AGuestsIdleConnectionsStopNobody) {
  TestAgent reader = agent(named("reader"));
  const int count = as_guest(kGuest, connect_all);
  ASSERT_GT(count, 5);
  EXPECT_LT(count, static_cast<int>(kFewFiles) / 4);
  EXPECT_EQ(as_guest(kGuest, be_told_why), 2);
  EXPECT_GT(as_guest(kSecondGuest, connect_all), 2);
  TestAgent sender = agent(named("sender"));
  EXPECT_TRUE(is_ok(sender.open(reader.pid())));
  EXPECT_TRUE(reader.next<AnnouncedLink>().has_value());
  EXPECT_TRUE(is_ok(connect().status()));  // and the end of the test brings the hive down
}

TEST_F(SharesOfHiveTest, PacketsThatAGuestDoesNotReadAreBoundedOverAllItsConnections) {
  limit(RLIM_INFINITY);
  std::vector<TestAgent> listed;
  for (int i = 0; i < 60; ++i) listed.push_back(agent(named("listed-" + std::to_string(i))));
  // Their answers have the greatest possible length.
  const int kept = as_guest(kGuest, [] {
    static std::vector<os::PacketSocket> sockets;
    const std::string path = std::string(std::getenv("BEELINE_DIR")) + "/socket";
    const std::string text = build(Request(ListRequest()), 1);
    for (int i = 0; i < 12; ++i) {
      auto socket = os::PacketSocket::connect(path);
      if (!socket) return -1;
      for (int j = 0; j < 380 && socket->send(text); ++j) continue;
      sockets.push_back(std::move(*socket));
    }
    const auto is_dropped = [](const os::PacketSocket& socket) {
      pollfd end{socket.fd(), 0, 0};
      return ::poll(&end, 1, 0) == 1;
    };
    const auto is_heard = [&](const os::PacketSocket& socket) {
      return socket.unread_bytes() == 0 || is_dropped(socket);
    };
    (void)eventually([&] { return std::all_of(sockets.begin(), sockets.end(), is_heard); });
    return 12 - static_cast<int>(std::count_if(sockets.begin(), sockets.end(), is_dropped));
  });
  EXPECT_GT(kept, 6) << "no more are dropped than it takes";
  EXPECT_LT(kept, 12);
  EXPECT_TRUE(eventually(
      [&] { return log().find("bytes wait for the clients of uid 65534") != std::string::npos; },
      2 * kLong));
  EXPECT_TRUE(is_ok(listed.front().client.status())) << "others are served";
}

// ---- Descriptors --------------------------------------------------------------------------------

TEST_F(SharesOfHiveTest, AnOpenWhoseDescriptorFindsNoRoomCostsNotTheConnection) {
  TestAgent reader = agent(named("reader"));
  TestAgent sender = agent(named("sender"));
  limit(static_cast<rlim_t>(descriptors_of(coordinator_)));
  const auto refused = sender.open(reader.pid());
  limit(kFewFiles);
  EXPECT_TRUE(has_error(refused, ErrorCode::kFull, "did not all arrive"));
  ASSERT_TRUE(is_ok(sender.client.status()));
  EXPECT_TRUE(is_ok(sender.open(reader.pid())));
}

// Each announcement of a link brings three descriptors. The kernel counts descriptors that nobody
// has taken yet, and refuses all clients if there are too many.
TEST_F(SharesOfHiveTest, AReaderThatDoesNotReadHoldsFewDescriptorsUnderWay) {
  limit(RLIM_INFINITY);
  constexpr int kSenders = 150;
  TestAgent reader = agent(named("reader"));
  std::vector<TestAgent> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.push_back(agent(named("sender-" + std::to_string(i))));
    ASSERT_TRUE(is_ok(senders.back().open(reader.pid())));
  }
  // These can be looked at without being received.
  int waiting = 0;
  ASSERT_EQ(::ioctl(reader.client.fd(), SIOCINQ, &waiting), 0);
  for (int i = 0; i < kSenders; ++i) {
    const auto link = reader.next<AnnouncedLink>();
    ASSERT_TRUE(link.has_value()) << "the link of sender " << i;
    EXPECT_TRUE(link->link.valid() && link->event.valid());
    if (i != 0) continue;
    const std::size_t length = build(AnnouncedValue(LinkAnnouncement(*link))).size();
    EXPECT_LT(waiting, static_cast<int>(length + 20) * 256 / 3);
    EXPECT_GT(waiting, static_cast<int>(length) * 30);
  }
}

// We may close our own descriptors long before a peer has received those that we sent.
TEST_F(SharesOfHiveTest, AGuestThatIsDroppedBeforeItReadsHoldsItsShareUntilItLetsGo) {
  const os::UniqueFd let_go = *os::create_event_fd();
  const int count = as_guest(kGuest, [&] { return be_dropped_unread(let_go.get()); });
  EXPECT_GT(count, 5);
  EXPECT_LT(count, static_cast<int>(kFewFiles) / 4);
  EXPECT_GT(as_guest(kSecondGuest, connect_all), 2) << "others have their share";
  const auto asks = [] {
    auto client = Client::connect();
    return client && client->status() ? 1 : 0;
  };
  EXPECT_EQ(as_guest(kGuest, asks), 0);
  (void)!::write(let_go.get(), "12345678", 8);
  EXPECT_TRUE(eventually([&] { return as_guest(kGuest, asks) == 1; }));
  EXPECT_TRUE(is_ok(owner_->status()));
}

// ---- Time ---------------------------------------------------------------------------------------

TEST_F(SharesOfHiveTest, AConnectionOverWhichNoRequestComesIsEnded) {
  Client asked = connect();
  ASSERT_TRUE(is_ok(asked.status()));
  auto socket = os::PacketSocket::connect(root_ + "/hive/socket");
  ASSERT_TRUE(is_ok(socket));
  const auto last = socket->receive(kMaxPacketBytes, kLong);
  ASSERT_TRUE(last && *last);
  EXPECT_NE((*last)->text.find("no request came"), std::string::npos) << (*last)->text;
  EXPECT_TRUE(is_ok(asked.status())) << "one that has asked may wait as long as it likes";
}

}  // namespace
}  // namespace beeline::control
