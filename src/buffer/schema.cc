#include "src/buffer/schema.h"

#include <string>

#include <fmt/format.h>

namespace beeline::buffer {
namespace {

// The document's own words.
constexpr const char* kDocumentTable = R"(
CREATE TABLE IF NOT EXISTS buffer (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- unique, monotonically ordered
  channel TEXT NOT NULL,                  -- nostr, telegram, github-webhook, etc.
  sender TEXT NOT NULL,                   -- who sent it (pubkey, user ID, "system")
  conversation TEXT NOT NULL,             -- thread/DM/session identifier
  payload TEXT NOT NULL,                  -- the actual message content (JSON)
  received_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  priority INTEGER NOT NULL DEFAULT 100,  -- lower = higher priority
  routed BOOLEAN NOT NULL DEFAULT FALSE   -- has the router processed this?
);
)";
constexpr const char* kDocumentIndexes = R"(
CREATE INDEX IF NOT EXISTS idx_buffer_unrouted ON buffer (routed, priority, id)
  WHERE routed = FALSE;
CREATE INDEX IF NOT EXISTS idx_buffer_conversation ON buffer (conversation, received_at);
CREATE INDEX IF NOT EXISTS idx_buffer_retention ON buffer (received_at) WHERE routed = TRUE;
)";

constexpr const char* kOwnTables = R"(
CREATE TABLE buffer_meta (version INTEGER NOT NULL);
INSERT INTO buffer_meta VALUES (1);

-- For a message with a key, or whose sender named its priority. A message without a key of its own
-- has the scope '' and "<start of the hive> <id in the hive>".
CREATE TABLE buffer_origins (
  id INTEGER PRIMARY KEY,             -- buffer.id
  scope TEXT,                         -- the channel
  key TEXT,
  is_explicit BOOLEAN NOT NULL        -- the sender named the priority
);
CREATE UNIQUE INDEX buffer_origins_key ON buffer_origins (scope, key) WHERE key IS NOT NULL;

CREATE TABLE buffer_batches (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  destination TEXT NOT NULL,          -- main, spawn, drop
  template TEXT NOT NULL DEFAULT '',  -- of a spawn
  pattern TEXT NOT NULL DEFAULT '',   -- of a spawn: the task before its places are filled
  route INTEGER NOT NULL,             -- the rule, from 1; 0: no rule matched
  state TEXT NOT NULL,                -- waiting, leased, done
  priority INTEGER NOT NULL,          -- the smallest of its messages
  first_id INTEGER NOT NULL,          -- the smallest buffer.id
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL,             -- of the payloads
  deliveries INTEGER NOT NULL DEFAULT 0,
  holder TEXT,                        -- of a leased one
  created_at DATETIME NOT NULL,
  ended_at DATETIME
);
CREATE INDEX buffer_batches_queue ON buffer_batches (destination, priority, first_id)
  WHERE state = 'waiting';
CREATE INDEX buffer_batches_growing
  ON buffer_batches (conversation, channel, destination, template, id)
  WHERE state = 'waiting' AND deliveries = 0;
CREATE INDEX buffer_batches_leased ON buffer_batches (holder) WHERE state = 'leased';
CREATE INDEX buffer_batches_ended ON buffer_batches (ended_at) WHERE state = 'done';

CREATE TABLE buffer_routed (
  id INTEGER PRIMARY KEY,             -- buffer.id
  batch INTEGER NOT NULL              -- buffer_batches.id
);
CREATE INDEX buffer_routed_batch ON buffer_routed (batch);

CREATE TABLE buffer_tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  batch INTEGER NOT NULL UNIQUE,      -- buffer_batches.id
  template TEXT NOT NULL,
  task TEXT NOT NULL,
  status TEXT NOT NULL,               -- waiting, starting, running, completed, failed
  pid INTEGER NOT NULL DEFAULT 0,     -- of the agent, in its hive
  exit_code INTEGER,
  result TEXT NOT NULL DEFAULT '',
  created_at DATETIME NOT NULL,
  ended_at DATETIME
);
CREATE INDEX buffer_tasks_status ON buffer_tasks (status, id);

CREATE TABLE buffer_task_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL,              -- buffer_tasks.id
  at DATETIME NOT NULL,
  status TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX buffer_task_history_task ON buffer_task_history (task, id);

CREATE TABLE buffer_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  due_at DATETIME NOT NULL,
  template TEXT NOT NULL,             -- empty: a message; else the agent to spawn
  text TEXT NOT NULL,
  state TEXT NOT NULL,                -- pending, fired, cancelled
  ended_at DATETIME,
  key TEXT UNIQUE
);
CREATE INDEX buffer_jobs_due ON buffer_jobs (due_at) WHERE state = 'pending';
)";

constexpr std::string_view kColumns =
    "id INTEGER, channel TEXT, sender TEXT, conversation TEXT, payload TEXT, received_at DATETIME, "
    "priority INTEGER, routed BOOLEAN";

// The version of the own tables; 0: there are none.
Result<std::int64_t> version_of(Database& database) {
  auto has_table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'buffer_meta'");
  if (!has_table) return tl::unexpected(has_table.error());
  {
    Cursor cursor(database, *has_table);
    const bool is_there = cursor.next();
    if (cursor.has_failed()) return tl::unexpected(database.failed("read the version"));
    if (!is_there) return std::int64_t{0};
  }
  auto version = database.prepare("SELECT max(version) FROM buffer_meta");
  if (!version) return tl::unexpected(version.error());
  Cursor cursor(database, *version);
  if (!cursor.next()) return tl::unexpected(database.failed("read the version"));
  return cursor.number(0);
}

Result<void> check_version(const Database& database, std::int64_t version) {
  if (version <= kSchemaVersion) return {};
  return fail(ErrorCode::kWrongVersion,
              fmt::format("{}: its tables have version {}, this Beeline knows up to {}: use the "
                          "Beeline that wrote it, or take another file",
                          database.path(), version, kSchemaVersion));
}

// Another program may have made a table of this name. No table fits, too.
Result<void> check_columns(Database& database) {
  auto columns = database.prepare(
      "SELECT group_concat(name || ' ' || type, ', ') FROM pragma_table_info('buffer')");
  if (!columns) return tl::unexpected(columns.error());
  Cursor cursor(database, *columns);
  if (!cursor.next()) return tl::unexpected(database.failed("read the columns"));
  if (cursor.text(0).empty() || cursor.text(0) == kColumns) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("{}: its table buffer has the columns \"{}\" in place of \"{}\"; take "
                          "another file",
                          database.path(), cursor.text(0), kColumns));
}

Result<void> make_tables(Database& database) {
  // Another process may make them at the same time, so look again under the lock.
  const auto version = version_of(database);
  if (!version) return tl::unexpected(version.error());
  if (auto known = check_version(database, *version); !known) return known;
  if (auto checked = check_columns(database); !checked) return checked;
  if (auto made = database.run(kDocumentTable); !made) return made;
  if (auto made = database.run(kDocumentIndexes); !made) return made;
  if (*version != 0) return {};
  return database.run(kOwnTables);
}

}  // namespace

Result<void> prepare_schema(Database& database) {
  // A file of a later version, or of another program, is left as it is.
  const auto version = version_of(database);
  if (!version) return tl::unexpected(version.error());
  if (auto known = check_version(database, *version); !known) return known;
  if (auto checked = check_columns(database); !checked) return checked;
  // A commit is on the disk when it returns. The cache holds the inner pages of the indexes.
  if (auto set = database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                              "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384");
      !set) {
    return set;
  }
  if (auto begun = database.run("BEGIN IMMEDIATE"); !begun) return begun;
  auto made = make_tables(database);
  if (made) made = database.run("COMMIT");
  if (!made && database.is_in_transaction()) (void)database.run("ROLLBACK");
  return made;
}

Result<void> check_schema(Database& database) {
  const auto version = version_of(database);
  if (!version) return tl::unexpected(version.error());
  if (*version == 0) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{}: has no tables of the buffer; name the file of a buffer", database.path()));
  }
  return check_version(database, *version);
}

}  // namespace beeline::buffer
