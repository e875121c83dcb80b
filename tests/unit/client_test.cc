// A client reads packets that lie in its socket.

#include "src/control/client.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "src/os/packet_socket.h"

namespace beeline::control {
namespace {

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    ::setenv("BEELINE_DIR", directory_.c_str(), 1);
  }
  ~ClientTest() override {
    ::unsetenv("BEELINE_DIR");
    std::filesystem::remove_all(directory_);
  }

  std::string directory_ =
      (std::filesystem::temp_directory_path() / "beeline-client-XXXXXX").string();
};

TEST_F(ClientTest, FindsAnAnnouncementBehindAnyNumberOfLateAnswers) {
  auto listener = os::PacketSocket::listen(directory_ + "/socket");
  ASSERT_TRUE(listener);
  ClientOptions options;
  options.start = false;
  auto client = Client::connect(options);
  ASSERT_TRUE(client);
  auto coordinator = listener->accept();
  ASSERT_TRUE(coordinator && *coordinator);
  constexpr int kLate = 20;
  for (int i = 1; i <= kLate; ++i) {
    ASSERT_TRUE((*coordinator)
                    ->send(R"({"op":"ok","seq":)" + std::to_string(i) + "}", {}, kDefaultDeadline));
  }
  ASSERT_TRUE((*coordinator)->send(R"({"op":"shutdown","reason":"a test"})", {}, kDefaultDeadline));
  const auto told = client->try_next();
  ASSERT_TRUE(told);
  EXPECT_TRUE(std::holds_alternative<ShutdownAnnouncement>(*told));
  EXPECT_FALSE(client->try_next());
  EXPECT_FALSE(client->closed());
}

}  // namespace
}  // namespace beeline::control
