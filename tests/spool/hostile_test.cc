// Folders that a crash or a stranger left.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/spool/spool_fixture.h"

namespace beeline::spool::test {
namespace {

class SpoolHostileTest : public SpoolTest {
 protected:
  // The file of a claim whose process has ended.
  [[nodiscard]] std::string dead_claim() {
    leave_claim("dead");
    const std::string json = read("processing/dead.json");
    fs::remove(path("processing/dead.json"));
    return json;
  }
  static std::string renamed(std::string json, const std::string& id) {
    const auto at = json.find("\"dead\"");
    return json.replace(at, 6, "\"" + id + "\"");
  }
  [[nodiscard]] bool remarks_say(Spool& spool, const std::string& part) {
    for (std::string& text : spool.take_remarks()) said_.push_back(std::move(text));
    return std::any_of(said_.begin(), said_.end(), [&](const std::string& text) {
      return text.find(part) != std::string::npos;
    });
  }
  std::vector<std::string> said_;
};

// DR-015, DR-017: each state that a kill can leave.
TEST_F(SpoolHostileTest, EveryHalfOfACrashIsRecovered) {
  const std::string claim = dead_claim();
  // A result was written, and the claim was not removed.
  write("processing/done.json", renamed(claim, "done"));
  write("outbox/done_result.json", to_json(Completion{.task_id = "done"}));
  write("processing/failed.json", renamed(claim, "failed"));
  write("failed/failed_error.json", to_json(TaskError{.task_id = "failed"}));
  // The result of an earlier task of the same id.
  write("outbox/again_result.json", to_json(Completion{.task_id = "again"}));
  age("outbox/again_result.json", std::chrono::hours(1));
  write("processing/again.json", renamed(claim, "again"));
  // A worker of another program only renames; one of another host ended while it put a task back.
  const std::string process = ".00000000.1.1.3";
  write("processing/half.json", to_json(task("half")));
  write("processing/other.json" + process, to_json(task("other")));
  age("processing/other.json" + process, std::chrono::minutes(16));
  // All attempts used up.
  Task last = *read_task(renamed(claim, "last"));
  last.attempts = 3;
  write("processing/last.json", to_json(last));
  // The same id waits again.
  write("processing/twin.json", renamed(claim, "twin"));
  write("inbox/twin.json", to_json(task("twin")));
  // A file that was torn, and is old.
  write("processing/torn.json", "{\"id\": \"to");
  age("processing/torn.json", std::chrono::minutes(1));

  Spool spool = open();
  const auto swept = spool.sweep();
  ASSERT_TRUE(swept) << swept.error().text;
  const auto sorted = [](std::vector<std::string> ids) { return Names(ids.begin(), ids.end()); };
  EXPECT_EQ(sorted(swept->finished), (Names{"done", "failed"}));
  EXPECT_EQ(sorted(swept->recovered), Names{"again"});
  EXPECT_EQ(sorted(swept->exhausted), (Names{"last", "twin"}));
  EXPECT_EQ(read_error(read("failed/last_error.json"))->error, "Max retries exceeded (3 attempts)");
  EXPECT_EQ(read_task(read("inbox/twin.json"))->attempts, 0);
  EXPECT_EQ(read_error(read("failed/torn_error.json"))->error.rfind("invalid task format", 0), 0U);
  EXPECT_EQ(read("failed/torn.json"), "{\"id\": \"to");
  // Nobody can tell about these two, so they wait for their heartbeats.
  EXPECT_EQ(names("processing"), (Names{"half.json", "other.json" + process}));
  options_.heartbeat_patience = std::chrono::seconds(0);
  EXPECT_EQ(sorted(open().sweep()->recovered), (Names{"half", "other"}));
  EXPECT_TRUE(names("processing").empty());
}

// DR-010, DR-011, C-23
TEST_F(SpoolHostileTest, AFolderFullOfStrangeFilesStopsNothing) {
  Spool spool = open();
  write("secret", "{\"id\": \"link\"}");
  fs::create_symlink(path("secret"), path("inbox/link.json"));
  fs::create_symlink("/dev/zero", path("inbox/zero.json"));
  fs::create_directory(path("inbox/folder.json"));
  ASSERT_EQ(::mkfifo(path("inbox/pipe.json").c_str(), 0644), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path("inbox/s.json").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  for (const std::string name : {"readme.txt", ".hidden.json", "a\nb.json", "\xff.json"}) {
    write("inbox/" + name, "{}");
  }
  write("inbox/" + std::string(250, 'x') + ".json", "{}");
  const Names strange = names("inbox");
  write("inbox/aaa.json", "{\"id\": ");
  write("inbox/empty.json", "");
  write("inbox/deep.json", "{\"x\": " + std::string(1000, '[') + std::string(1000, ']') + "}");
  write("inbox/mismatch.json", "{\"id\": \"../../etc/passwd\"}");
  write("inbox/list.json", "[1]");
  write("inbox/wrong.json", "{\"priority\": \"high\"}");
  write("inbox/huge.json", "");
  fs::resize_file(path("inbox/huge.json"), 20 << 20);
  write("inbox/nearly.json", "{\"title\": \"" + std::string((16 << 20) - 14, 'x') + "\"}");
  const Names broken{"aaa", "empty", "deep", "mismatch", "list", "wrong", "huge", "nearly"};
  put(spool, task("zzz"));

  EXPECT_EQ(claimed_id(spool), "zzz");
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  EXPECT_EQ(names("inbox"), strange);
  EXPECT_EQ(read("secret"), "{\"id\": \"link\"}");
  for (const auto& id : broken) {
    const auto error = read_error(read("failed/" + id + "_error.json"));
    ASSERT_TRUE(error) << id;
    EXPECT_TRUE(error->error.starts_with("invalid task format")) << error->error;
    EXPECT_TRUE(fs::exists(path("failed/" + id + ".json"))) << id;
    EXPECT_TRUE(remarks_say(spool, "inbox/" + id + ".json")) << id;
  }
  for (const auto* name :
       {"link.json", "zero.json", "folder.json", "pipe.json", "s.json", "readme.txt",
        ".hidden.json", "a\\x0ab.json", "\\xff.json", "xxx.json"}) {
    EXPECT_TRUE(remarks_say(spool, name)) << name;
  }
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  EXPECT_TRUE(spool.take_remarks().empty());  // each is said once
  for (const Folder folder :
       {Folder::kInbox, Folder::kProcessing, Folder::kOutbox, Folder::kFailed}) {
    EXPECT_TRUE(spool.list(folder));
  }
}

// A file that is still being written is no broken one.
TEST_F(SpoolHostileTest, AHalfWrittenFileIsWaitedFor) {
  Spool spool = open();
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  std::ofstream file(path("inbox/slow.json"));
  file << "{\"id\": \"sl" << std::flush;
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  EXPECT_EQ(claimed_id(*std::make_unique<Spool>(open())), "ErrNoTasks");
  file << "ow\"}" << std::flush;
  file.close();
  EXPECT_EQ(claimed_id(spool), "slow");
}

// The same id comes while it is worked on, from a program that does not look.
TEST_F(SpoolHostileTest, ATaskWhoseTwinIsWorkedOnWaitsForIt) {
  Spool spool = open();
  put(spool, task("a"));
  auto first = spool.try_claim();
  ASSERT_TRUE(first);
  write("inbox/a.json", to_json(task("a")));
  EXPECT_EQ(claimed_id(spool), "ErrNoTasks");
  ASSERT_TRUE(first->complete({.output = "first"}));
  auto second = spool.try_claim();
  ASSERT_TRUE(second) << second.error().text;
  ASSERT_TRUE(second->complete({.output = "second"}));
  EXPECT_EQ(read_completion(read("outbox/a_result.json"))->output, "second");
}

}  // namespace
}  // namespace beeline::spool::test
