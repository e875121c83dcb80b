#pragma once

// A line on the stdin of `beeline pipe`, as a command. docs/pipe.md has the table.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include <beeline/types.h>

#include "tools/beeline/output.h"

namespace beeline::cli {

enum class PipeVerb : std::uint8_t {
  kReceive,
  kDone,
  kRequeue,
  kPutBack,
  kReject,
  kReply,
  kSend,
  kRequest,
  kBroadcast,
  kCancel,
  kInbox,
};

// One command, checked. A field that a line left out has its default here.
struct PipeCommand {
  PipeVerb verb = PipeVerb::kReceive;
  Json seq;  // the result repeats it
  MessageId id = 0;
  std::string to;  // name or pid
  std::string body;
  std::int32_t rank = kNormal;
  std::string type;
  std::string channel;
  std::uint32_t ttl_ms = 0;
  MessageId reply_to = 0;
  bool requires_ack = false;
  bool leave = false;
  bool copies = false;
  std::optional<std::chrono::nanoseconds> timeout;
  std::chrono::nanoseconds room{0};
  std::optional<Json> of;  // the seq of the command that this one ends
  std::string group = "all";
  std::size_t limit = 1000;

  // The views refer to this object.
  [[nodiscard]] SendOptions options() const;
};

// The reason why a line is no command.
struct PipeRefusal {
  Json seq;  // null if it could not be read
  std::string text;
};

[[nodiscard]] tl::expected<PipeCommand, PipeRefusal> parse_command(std::string_view line);

}  // namespace beeline::cli
