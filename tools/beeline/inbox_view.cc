#include "tools/beeline/inbox_view.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "src/look/escape.h"
#include "src/look/segments.h"
#include "src/os/clock.h"

namespace beeline::cli {

std::vector<InboxLine> lines_of(const SeenInbox& inbox) {
  const std::int64_t now_ns = os::monotonic_ns();
  std::vector<InboxLine> lines;
  for (const SeenMessage& message : inbox.messages) {
    InboxLine line;
    line.place = to_string(message.place);
    line.id = message.id;
    line.reply_to = message.reply_to;
    line.from = message.from_name.empty() ? fmt::format("pid {}", message.from)
                                          : look::escape(message.from_name);
    line.type = look::escape(message.type);
    line.channel = look::escape(message.channel);
    line.rank = message.rank;
    line.attempts = message.attempts;
    line.bytes = message.length;
    line.age_ms = std::max<std::int64_t>(now_ns - message.sent_ns, 0) / 1'000'000;
    line.reason = message.reason;
    line.preview = look::preview_of(std::as_bytes(std::span(message.preview)), message.length);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace beeline::cli
