#include "src/buffer/intake.h"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/buffer/limits.h"
#include "src/buffer/times.h"
#include "src/control/names.h"

namespace beeline::buffer {
namespace {

Result<void> check_text(std::string_view field, std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return fail(ErrorCode::kTooBig,
                fmt::format("put: {} has {} bytes, at most {}; send less, or the place of a file",
                            field, text.size(), most));
  }
  if (text.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, fmt::format("put: {} has a NUL; encode it", field));
  }
  return control::check_utf8(field, text);
}

struct MessageKey {
  std::string scope{};
  std::string key{};  // empty: the message has none
};

MessageKey key_of(const Put& put) {
  if (!put.key.empty()) return {put.channel, put.key};
  if (put.hive_start.empty()) return {};
  return {"", fmt::format("{} {}", put.hive_start, put.hive_message)};
}

}  // namespace

Result<void> check_put(const Put& put) {
  if (put.channel.empty()) {
    return fail(ErrorCode::kInvalid,
                "put: the channel is empty; name the channel, 1 to 1024 bytes");
  }
  const std::pair<std::string_view, const std::string*> names[] = {
      {"the channel", &put.channel},
      {"the sender", &put.sender},
      {"the conversation", &put.conversation},
      {"the key", &put.key},
      {"the start of the hive", &put.hive_start},
  };
  for (const auto& [field, text] : names) {
    if (auto valid = check_text(field, *text, kMaxNameBytes); !valid) return valid;
  }
  return check_text("the payload", put.payload, kMaxPayloadBytes);
}

Result<Intake> Intake::open(Database& database, const ChannelPriorities& channels) {
  Intake intake(database, channels);
  auto prepared = database.prepare_all({
      {&intake.find_, "SELECT id FROM buffer_origins WHERE scope = ? AND key = ?"},
      {&intake.insert_,
       "INSERT INTO buffer (channel, sender, conversation, payload, received_at, priority) "
       "VALUES (?, ?, ?, ?, ?, ?)"},
      {&intake.insert_origin_,
       "INSERT INTO buffer_origins (id, scope, key, is_explicit) "
       "VALUES (?1, iif(?3 = '', NULL, ?2), nullif(?3, ''), ?4)"},
  });
  if (!prepared) return tl::unexpected(std::move(prepared.error()));
  return intake;
}

Result<PutAnswer> Intake::put(const Put& put, std::int64_t now_ms) {
  if (auto valid = check_put(put); !valid) return tl::unexpected(std::move(valid.error()));
  const MessageKey key = key_of(put);
  if (!key.key.empty()) {
    Cursor found(*database_, find_, key.scope, key.key);
    if (found.next()) return PutAnswer{.id = found.number(0), .is_repeat = true};
    if (found.has_failed()) return tl::unexpected(database_->failed("look for the key"));
  }
  const std::string time = format_time(put.received_unix_ms != 0 ? put.received_unix_ms : now_ms);
  const std::int64_t priority = put.priority.value_or(channels_->of(put.channel));
  auto done = Cursor(*database_, insert_, put.channel, put.sender, put.conversation, put.payload,
                     time, priority)
                  .finish("write a message");
  if (!done) return tl::unexpected(std::move(done.error()));
  const RowId id = database_->last_row_id();
  if (!key.key.empty() || put.priority) {
    done = Cursor(*database_, insert_origin_, id, key.scope, key.key,
                  std::int64_t{put.priority.has_value()})
               .finish("write the key of a message");
    if (!done) return tl::unexpected(std::move(done.error()));
  }
  return PutAnswer{.id = id};
}

}  // namespace beeline::buffer
