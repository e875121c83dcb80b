#include "tools/beeline/buffer_view.h"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "src/control/names.h"
#include "src/look/escape.h"
#include "tools/beeline/survey_view.h"

namespace beeline::cli {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

// A value as one line.
std::string value_text(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  if (value.is_null()) return "-";
  return look::escape(value.is_string() ? value.get<std::string>() : value.dump());
}

// A long text as the start of its line.
std::string start_of(const Json& object, const char* key) {
  constexpr std::size_t kMostBytes = 60;
  const std::string text = value_text(object, key);
  if (text.size() <= kMostBytes) return text;
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string table_of(const Json& rows, const std::vector<std::string>& headings,
                     const std::vector<const char*>& keys) {
  Table table(headings);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const char* const key : keys) cells.push_back(start_of(row, key));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string age_text(const Json& object) {
  return duration_text(object.value("oldest_age_ms", std::int64_t{0}) * kNsPerMs);
}

std::string message_text(const Json& message) {
  std::string text = fmt::format("message {}  {}  from {}\n", value_text(message, "id"),
                                 value_text(message, "received_at"), value_text(message, "sender"));
  const std::string payload = readable(message.value("payload", ""));
  return text + payload + (payload.ends_with('\n') ? "" : "\n");
}

}  // namespace

Result<void> check_text(std::string_view text) {
  return control::check_utf8("the text of a message", text);
}

std::string batch_text(const Json& batch) {
  std::string text =
      fmt::format("batch {}  channel {}  conversation {}{}\n", value_text(batch, "id"),
                  value_text(batch, "channel"), value_text(batch, "conversation"),
                  batch.value("redelivered", false) ? "  (was handed out before)" : "");
  for (const Json& message : batch.value("messages", Json::array())) text += message_text(message);
  return text;
}

std::string buffer_status_text(const Json& status) {
  const std::uint64_t unrouted = status.value("unrouted", std::uint64_t{0});
  std::string text = fmt::format("unrouted  {}", grouped(unrouted));
  if (unrouted != 0) text += fmt::format(", the oldest for {}", age_text(status));
  text += '\n';
  Table channels({"channel", ">unrouted", ">oldest"});
  for (const Json& channel : status.value("channels", Json::array())) {
    channels.add(
        {value_text(channel, "channel"), value_text(channel, "unrouted"), age_text(channel)});
  }
  if (unrouted != 0) text += channels.text("  ");
  const auto number = [&status](const char* key) {
    return grouped(status.value(key, std::uint64_t{0}));
  };
  text += fmt::format("batches   {} wait ({} messages), {} are handed out ({} messages)\n",
                      number("waiting_batches"), number("waiting_messages"),
                      number("leased_batches"), number("leased_messages"));
  return text + fmt::format("tasks     {} wait, {} are open\n", number("waiting_tasks"),
                            number("open_tasks"));
}

std::string message_table(const Json& messages) {
  return table_of(messages, {">id", "channel", "conversation", "sender", ">priority", "payload"},
                  {"id", "channel", "conversation", "sender", "priority", "payload"});
}

std::string batch_table(const Json& batches) {
  return table_of(
      batches,
      {">batch", "channel", "conversation", "state", ">priority", ">messages", ">handed out",
       "holder"},
      {"id", "channel", "conversation", "state", "priority", "messages", "deliveries", "holder"});
}

std::string task_table(const Json& tasks) {
  return table_of(
      tasks, {">task", "template", "status", ">pid", ">exit", "channel", "conversation", "result"},
      {"id", "template", "status", "pid", "exit_code", "channel", "conversation", "result"});
}

std::string row_text(const Json& row) {
  Table fields({"", ""});
  std::string lists;
  for (const auto& [key, value] : row.items()) {
    if (!value.is_array()) {
      fields.add({key, value_text(row, key.c_str())});
    } else if (key == "history") {
      lists += '\n' + table_of(value, {"at", "status", "detail"}, {"at", "status", "detail"});
    } else if (key == "messages") {
      for (const Json& message : value) lists += '\n' + message_text(message);
    }
  }
  const std::string text = fields.text();
  return text.substr(text.find('\n') + 1) + lists;
}

}  // namespace beeline::cli
