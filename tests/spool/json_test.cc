// The JSON of the three files, the ids, and the environment.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include <beeline/spool.h>

#include "src/spool/id.h"

namespace beeline::spool::test {
namespace {

// The example of the document, letter by letter.
constexpr auto kExample = R"({
  "id": "task_1234567890",
  "title": "Implement feature X",
  "description": "Add feature X with proper error handling",
  "epic_id": "epic_abc123",
  "parent_id": "",
  "sequence_number": 0,
  "type": "feature",
  "priority": 1,
  "status": "ready",
  "attempts": 0,
  "max_attempts": 3,
  "last_error": "",
  "claimed_by": "",
  "claimed_at": 0,
  "operator": "",
  "verdict": "unknown",
  "verdict_reason": "",
  "test_mode": "strict",
  "test_scope": "diff",
  "test_command": "",
  "created_at": 1705862400,
  "updated_at": 1705862400,
  "metadata": {
    "worktree": "/path/to/worktree",
    "dependencies": []
  }
}
)";

Failure error_of(const std::string& json) {
  const auto task = read_task(json);
  EXPECT_FALSE(task) << json;
  return task ? Failure{} : task.error();
}

// DR-002, DR-003: the same keys, order and indentation.
TEST(SpoolJson, TheExampleOfTheDocumentIsReadAndWrittenLetterByLetter) {
  const auto task = read_task(kExample);
  ASSERT_TRUE(task) << task.error().text;
  EXPECT_EQ(task->title, "Implement feature X");
  EXPECT_EQ(task->metadata.worktree, "/path/to/worktree");
  EXPECT_EQ(to_json(*task), kExample);
}

TEST(SpoolJson, ResultAndErrorHaveTheKeysOfTheDocument) {
  const Completion done{"task_1", "completed", "pass", "Works", "Out", 45000, 1705862445, {}};
  EXPECT_EQ(to_json(done), R"({
  "task_id": "task_1",
  "status": "completed",
  "verdict": "pass",
  "verdict_reason": "Works",
  "output": "Out",
  "duration_ms": 45000,
  "completed_at": 1705862445
}
)");
  EXPECT_EQ(*read_completion(to_json(done)), done);
  const TaskError error{"task_1", "failed", "timeout", 3, 1705862500, 1705862501, {}};
  EXPECT_EQ(to_json(error), R"({
  "task_id": "task_1",
  "status": "failed",
  "error": "timeout",
  "attempts": 3,
  "last_attempt_at": 1705862500,
  "failed_at": 1705862501
}
)");
  EXPECT_EQ(*read_error(to_json(error)), error);
}

// C-26: the forms of the document and of the source are read.
TEST(SpoolJson, MissingAndNullKeysHaveTheirDefaults) {
  const auto task = read_task(R"({"id":"a","claimed_at":null,"verdict":"","metadata":null})");
  ASSERT_TRUE(task) << task.error().text;
  Task expected;
  expected.id = "a";
  expected.verdict = "";
  EXPECT_EQ(*task, expected);
  EXPECT_EQ(expected.max_attempts, 3);
}

// C-26
TEST(SpoolJson, UnknownKeysAreKeptAtBothLevelsAndIndented) {
  const std::string json =
      R"({"id":"a","x":{"deep":[1,2.50,-0,1.5e30,{"k":"v \"q\" \\"}],"e":{},"n":null},
    "metadata":{"worktree":"w","dependencies":["b","c"],"y":[true,[]],"z":18446744073709551615}})";
  const auto task = read_task(json);
  ASSERT_TRUE(task) << task.error().text;
  ASSERT_EQ(task->extra.size(), 1U);
  EXPECT_EQ(task->extra[0].second,
            R"({"deep":[1,2.50,-0,1.5e30,{"k":"v \"q\" \\"}],"e":{},"n":null})");
  EXPECT_EQ(task->metadata.dependencies, (std::vector<std::string>{"b", "c"}));
  const std::string written = to_json(*task);
  EXPECT_NE(written.find("    \"y\": [\n      true,\n      []\n    ],\n    \"z\": 184467"),
            std::string::npos)
      << written;
  EXPECT_EQ(*read_task(written), *task);
}

// DR-004: words of the format and others.
TEST(SpoolJson, WordsAreKeptAsTheyAre) {
  for (const std::string word :
       {"ready",     "claimed", "in_progress", "paused",   "blocked", "completed",  "failed",
        "cancelled", "feature", "bug",         "refactor", "test",    "docs",       "research",
        "fix",       "other",   "pass",        "fail",     "unknown", "of tomorrow"}) {
    Task task;
    task.status = task.type = task.verdict = word;
    EXPECT_EQ(*read_task(to_json(task)), task);
  }
}

// DR-011, DR-020
TEST(SpoolJson, AnErrorSaysTheKeyAndThePlace) {
  const auto says = [](const std::string& json, const std::string& part) {
    const Failure failure = error_of(json);
    EXPECT_EQ(failure.code, Code::kInvalidTask);
    EXPECT_EQ(failure.text.rfind("invalid task format: ", 0), 0U) << failure.text;
    EXPECT_NE(failure.text.find(part), std::string::npos) << failure.text;
  };
  says("", "byte 1");
  says("{\"id\": \"a\"", "byte 11");
  says("[]", "a JSON object is needed");
  says("7", "a JSON object is needed");
  says("{\"id\": 7}", "\"id\" is a number, and a text is needed");
  says("{\"priority\": \"high\"}", "\"priority\" is a text, and a whole number of 64 bits");
  says("{\"priority\": 1.5}",
       "with a fraction or an exponent, and a whole number of 64 bits is "
       "needed (byte 14)");
  says("{\"priority\": 9223372036854775808}", "a larger number");
  says("{\"metadata\": []}", "\"metadata\" is an array, and an object is needed");
  says("{\"metadata\": {\"dependencies\": [1]}}", "a part of \"dependencies\" is a number");
  says("{\"id\": \"\xff\"}", "no valid JSON");
  says("{} x", "byte 4");
  says(std::string("{}\0", 3), "byte 3: the JSON has ended before");
  says(R"({"id": "\ud800"})", "byte 9: the escape is half a character");
  says("{\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", "64 levels");
  says(std::string(kMostFileBytes + 1, ' '), "at most 16777216");
}

// DR-003
TEST(SpoolJson, AKeyThatComesTwiceHasItsLastValueAtItsFirstPlace) {
  const auto task = read_task(
      R"({"priority":5,"x":1,"title":"a","y":2,"priority":null,"title":"b","x":3,
          "metadata":{"worktree":"w"},"metadata":null})");
  ASSERT_TRUE(task) << task.error().text;
  EXPECT_EQ(task->priority, 1);
  EXPECT_EQ(task->title, "b");
  EXPECT_EQ(task->extra, (std::vector<Extra>{{"x", "3"}, {"y", "2"}}));
  EXPECT_EQ(task->metadata, Metadata{});
}

// The watchdog ends a reader that searches all keys for each key.
TEST(SpoolJson, AFileOfManyUnknownKeysIsReadInTime) {
  constexpr std::size_t kKeys = 400'000;
  std::string json = "{\"x\":0";
  for (std::size_t i = 0; i < kKeys; ++i) json += ",\"a" + std::to_string(i) + "\":1";
  const auto task = read_task(json + '}');
  ASSERT_TRUE(task) << task.error().text;
  EXPECT_EQ(task->extra.size(), kKeys + 1);
}

TEST(SpoolJson, ALargeUnknownValueIsNotIndented) {
  std::string json = "{\"x\":" + std::string(60, '[');
  for (int i = 0; i < 200'000; ++i) json += "1,";
  json += '1' + std::string(60, ']') + '}';
  const auto task = read_task(json);
  ASSERT_TRUE(task) << task.error().text;
  const std::string written = to_json(*task);
  EXPECT_LT(written.size(), 2 * json.size());
  EXPECT_EQ(*read_task(written), *task);
}

TEST(SpoolJson, TextsAreEscapedAndBytesThatAreNoUtf8AreReplaced) {
  Task task;
  task.title = std::string("\x01\"\\\n\t/ä€\U0001F600\x7f", 17);
  EXPECT_EQ(read_task(to_json(task))->title, task.title);
  task.title = "a\xffz\xed\xa0\x80";
  EXPECT_EQ(read_task(to_json(task))->title, "a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

// DR-021, C-33
TEST(SpoolJson, AnIdThatIsNoFileNameIsRefused) {
  for (const std::string id : {"", "../x", "a/b", ".hidden", ".", "a\nb", "\x7f", "\xff"}) {
    EXPECT_TRUE(why_no_id(id)) << id;
  }
  EXPECT_TRUE(why_no_id(std::string(kMostIdBytes + 1, 'a')));
  EXPECT_FALSE(why_no_id(std::string(kMostIdBytes, 'a')));
  EXPECT_FALSE(why_no_id("task 1 ä..:"));
  EXPECT_EQ(id_in(Folder::kInbox, "a.json"), "a");
  EXPECT_EQ(id_in(Folder::kOutbox, "a_result.json"), "a");
  EXPECT_EQ(id_in(Folder::kFailed, "a_error.json"), "a");
  EXPECT_EQ(id_in(Folder::kInbox, "a.txt"), std::nullopt);
  EXPECT_EQ(id_in(Folder::kOutbox, "a.json"), std::nullopt);
}

// DR-019
TEST(SpoolEnvironment, TheFourVariablesAreRead) {
  const auto set = [](const char* name, const char* value) { ::setenv(name, value, 1); };
  Environment found = Environment::read();
  EXPECT_EQ(found.dir, "/tmp/drover/mailbox");
  EXPECT_FALSE(found.enabled);
  EXPECT_EQ(found.outbox_retention.count(), 7);
  EXPECT_EQ(found.failed_retention.count(), 30);
  set("DROVER_MAILBOX_DIR", "/a/b");
  set("DROVER_MAILBOX_ENABLED", "1");
  set("DROVER_MAILBOX_OUTBOX_RETENTION", "12abc");
  set("DROVER_MAILBOX_FAILED_RETENTION", "abc");
  found = Environment::read();
  EXPECT_EQ(found.dir, "/a/b");
  EXPECT_TRUE(found.enabled);
  EXPECT_EQ(found.outbox_retention.count(), 12);
  EXPECT_EQ(found.failed_retention.count(), 30);
  set("DROVER_MAILBOX_ENABLED", "TRUE");
  EXPECT_FALSE(Environment::read().enabled);
  for (const auto* name : {"DROVER_MAILBOX_DIR", "DROVER_MAILBOX_ENABLED",
                           "DROVER_MAILBOX_OUTBOX_RETENTION", "DROVER_MAILBOX_FAILED_RETENTION"}) {
    ::unsetenv(name);
  }
}

// DR-020
TEST(SpoolWords, TheFiveErrorsHaveTheNamesAndTextsOfTheDocument) {
  EXPECT_EQ(name_of(Code::kMailboxDir), "ErrMailboxDir");
  EXPECT_EQ(text_of(Code::kMailboxDir), "mailbox directory error");
  EXPECT_EQ(name_of(Code::kTaskExists), "ErrTaskExists");
  EXPECT_EQ(text_of(Code::kTaskExists), "task already exists in inbox");
  EXPECT_EQ(name_of(Code::kNoTasks), "ErrNoTasks");
  EXPECT_EQ(text_of(Code::kNoTasks), "no tasks available");
  EXPECT_EQ(name_of(Code::kTaskNotFound), "ErrTaskNotFound");
  EXPECT_EQ(text_of(Code::kTaskNotFound), "task not found");
  EXPECT_EQ(name_of(Code::kInvalidTask), "ErrInvalidTask");
  EXPECT_EQ(text_of(Code::kInvalidTask), "invalid task format");
}

}  // namespace
}  // namespace beeline::spool::test
