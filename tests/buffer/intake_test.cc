// Rows, keys, and the file: KO-002, KO-003, KO-005, KO-020, KO-028.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "src/buffer/schema.h"
#include "tests/buffer/buffer_fixture.h"

namespace beeline::buffer {
namespace {

class BufferIntake : public BufferTest {};

TEST_F(BufferIntake, ARowHasTheColumnsAndDefaultsOfTheDocument) {  // KO-002, KO-028
  open();
  const RowId first = put("dm-1");
  EXPECT_EQ(put("dm-2"), first + 1);
  EXPECT_EQ(sql("SELECT channel || sender || conversation || payload || received_at || priority || "
                "routed FROM buffer WHERE id = 1"),
            "ghanndm-1p2026-01-31 12:00:00.0001000");
  // A program that knows the document alone.
  EXPECT_EQ(sql("INSERT INTO buffer (channel, sender, conversation, payload) VALUES "
                "('tg', '', 'c', '{}'); SELECT priority || routed FROM buffer WHERE id = 3"),
            "1000");
  EXPECT_EQ(sql("DELETE FROM buffer WHERE id = 3; SELECT count(*) FROM buffer"), "2");
  EXPECT_EQ(put("dm-3"), 4) << "an id is not used again";
  EXPECT_EQ(sql("INSERT INTO buffer (channel, sender, conversation) VALUES ('a', 'b', 'c')"),
            "NOT NULL constraint failed: buffer.payload");
}

TEST_F(BufferIntake, TheTableIsThatOfTheDocumentToTheLetter) {
  open();
  EXPECT_EQ(sql("SELECT sql FROM sqlite_schema WHERE name = 'buffer'"),
            R"(CREATE TABLE buffer (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- unique, monotonically ordered
  channel TEXT NOT NULL,                  -- nostr, telegram, github-webhook, etc.
  sender TEXT NOT NULL,                   -- who sent it (pubkey, user ID, "system")
  conversation TEXT NOT NULL,             -- thread/DM/session identifier
  payload TEXT NOT NULL,                  -- the actual message content (JSON)
  received_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  priority INTEGER NOT NULL DEFAULT 100,  -- lower = higher priority
  routed BOOLEAN NOT NULL DEFAULT FALSE   -- has the router processed this?
))");
  EXPECT_EQ(sql("SELECT count(*) FROM sqlite_schema WHERE name IN ('idx_buffer_unrouted', "
                "'idx_buffer_conversation', 'idx_buffer_retention')"),
            "3");
  EXPECT_EQ(sql("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE '%buffer%' AND "
                "name <> 'sqlite_sequence'"),
            "0")
      << "other programs may use the file";
  EXPECT_EQ(sql("PRAGMA journal_mode"), "wal");
}

TEST_F(BufferIntake, ThePriorityIsThatOfTheSenderElseOfTheChannel) {  // KO-005, C-29
  config_.channels.add("@koshi/telegram", 10);
  open();
  put("a", std::nullopt, "telegram");
  put("b", 77, "telegram");
  put("c", -5);
  EXPECT_EQ(sql("SELECT group_concat(priority) FROM (SELECT * FROM buffer ORDER BY id)"),
            "10,77,-5");
}

TEST_F(BufferIntake, ARepeatGetsTheRowOfTheFirst) {
  open();
  Put keyed = message("a");
  keyed.key = "delivery-1";
  Put plain = message("a");
  plain.hive_start = "1700";
  plain.hive_message = 42;
  const auto first = ask<PutAnswer>(keyed);
  const auto second = ask<PutAnswer>(plain);
  EXPECT_FALSE(first.is_repeat || second.is_repeat);
  open();
  EXPECT_EQ(ask<PutAnswer>(keyed).id, first.id);
  EXPECT_TRUE(ask<PutAnswer>(keyed).is_repeat);
  EXPECT_EQ(ask<PutAnswer>(plain).id, second.id);
  keyed.hive_start = "1701";  // a sender that sends it again after a crash has a new message
  EXPECT_EQ(ask<PutAnswer>(keyed).id, first.id);
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), "2");
  plain.hive_start = "1701";
  EXPECT_FALSE(ask<PutAnswer>(plain).is_repeat) << "another hive counts from 1 again";
  keyed.channel = "tg";
  EXPECT_FALSE(ask<PutAnswer>(keyed).is_repeat) << "channels choose their keys by themselves";
  EXPECT_EQ(ledger_->open_messages(), 4U);
}

TEST_F(BufferIntake, WrongMessagesAreRefusedAndNothingIsWritten) {
  open();
  const auto refused = [&](Put put, ErrorCode code, const std::string& text) {
    const Error error = error_of(put);
    EXPECT_EQ(error.code, code);
    EXPECT_NE(error.text.find(text), std::string::npos) << error.text;
  };
  refused({.payload = "x"}, ErrorCode::kInvalid, "the channel is empty");
  refused({.channel = std::string(1025, 'x')}, ErrorCode::kTooBig, "has 1025 bytes, at most 1024");
  refused({.channel = "a", .sender = std::string("a\0b", 3)}, ErrorCode::kInvalid, "has a NUL");
  refused({.channel = "a", .payload = "\xff"}, ErrorCode::kInvalid, "the payload");
  refused({.channel = "a", .payload = std::string((16 << 20) + 1, 'x')}, ErrorCode::kTooBig,
          "the payload has 16777217 bytes");
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), "0");
}

TEST_F(BufferIntake, AnAnsweredPutSurvivesAKillRightAfterIt) {  // KO-003, KO-020
  int ids[2];
  ASSERT_EQ(::pipe(ids), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    open();
    for (int i = 0; i < 3; ++i) {
      const RowId id = put("a");
      (void)!::write(ids[1], &id, sizeof id);
    }
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  RowId last = 0;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::read(ids[0], &last, sizeof last), ssize_t{sizeof last});
  open();
  EXPECT_EQ(last, 3);
  route();
  EXPECT_EQ(words(next()), "a: 1 2 3") << "unrouted, the same ids, the same order";
}

TEST_F(BufferIntake, AFileOfALaterVersionIsLeftAlone) {
  open();
  ledger_.reset();
  sql("UPDATE buffer_meta SET version = 9");
  const auto ledger = try_open();
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().code, ErrorCode::kWrongVersion);
  EXPECT_NE(ledger.error().text.find("version 9, this Beeline knows up to 1"), std::string::npos);
}

TEST_F(BufferIntake, ADamagedFileIsSaidAndKept) {
  const auto is_refused = [&](const std::string& how) {
    const auto ledger = try_open();
    ASSERT_FALSE(ledger) << how;
    EXPECT_EQ(ledger.error().code, ErrorCode::kBadSegment) << ledger.error().text;
    EXPECT_NE(ledger.error().text.find("is damaged"), std::string::npos) << ledger.error().text;
  };
  std::ofstream(path()) << std::string(8192, 'x');
  is_refused("no database");
  EXPECT_EQ(std::filesystem::file_size(path()), 8192U);
  std::filesystem::remove(path());
  open();
  put("a");
  ledger_.reset();
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);
  file << std::string(3000, '\x55');
  file.close();
  is_refused("its first page is damaged");
}

TEST_F(BufferIntake, AFileThatCannotBeWrittenIsSaid) {
  std::filesystem::create_directory(path());
  const auto folder = try_open();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kSystem);
  EXPECT_NE(folder.error().text.find("unable to open database file"), std::string::npos);
  const auto nowhere = Ledger::open({.path = root_ + "/no/buffer.db"});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text.find("make its folder"), std::string::npos);
}

TEST_F(BufferIntake, TheFileMayBelongToOthersToo) {
  sql("CREATE TABLE memory (id INTEGER); INSERT INTO memory VALUES (7); PRAGMA user_version = 3");
  open();
  put("a");
  EXPECT_EQ(sql("SELECT id FROM memory"), "7");
  EXPECT_EQ(sql("PRAGMA user_version"), "3");
  ledger_.reset();
  sql("DROP TABLE buffer; DROP TABLE buffer_meta; CREATE TABLE buffer (id INTEGER, x TEXT)");
  const auto other = try_open();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalid);
  EXPECT_NE(other.error().text.find("\"id INTEGER, x TEXT\""), std::string::npos);
}

TEST_F(BufferIntake, QueriesReadBesideABufferThatRuns) {
  open();
  put("a");
  auto reader = Database::open_to_read(path());
  ASSERT_TRUE(reader) << reader.error().text;
  ASSERT_TRUE(check_schema(*reader));
  auto queries = Queries::open(*reader);
  ASSERT_TRUE(queries) << queries.error().text;
  EXPECT_EQ(queries->status(now_ms_)->unrouted, 1U);
  put("b");
  EXPECT_EQ(queries->status(now_ms_)->unrouted, 2U);
  sqlite3_exec(reader->get(), "DELETE FROM buffer", nullptr, nullptr, nullptr);
  EXPECT_EQ(sql("SELECT count(*) FROM buffer"), "2");
}

}  // namespace
}  // namespace beeline::buffer
