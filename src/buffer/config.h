#pragma once

// The parts of koshi.yaml that concern the buffer: `buffer`, `plugins`, `routes`, `defaultRoute`.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/result.h>

#include "src/buffer/agent_template.h"
#include "src/buffer/expansion.h"
#include "src/buffer/limits.h"
#include "src/buffer/rules.h"

namespace beeline::buffer {

// The largest batch. A message that is larger by itself is a batch of its own.
struct BatchLimits {
  std::uint32_t messages = kDefaultBatchMessages;
  std::uint64_t bytes = kDefaultBatchBytes;  // of payloads
};

// The priorities that plugins give their channels.
class ChannelPriorities {
 public:
  // A plugin "@koshi/telegram" has the channel "telegram"; its whole name is a channel, too.
  void add(const std::string& plugin, std::int32_t priority);
  [[nodiscard]] std::int32_t of(const std::string& channel) const;

 private:
  std::map<std::string, std::int32_t> priorities_{};
};

struct Config {
  std::uint32_t retention_days = kDefaultRetentionDays;
  std::chrono::milliseconds batch_window = kDefaultBatchWindow;
  std::uint64_t warn_threshold = kDefaultWarnThreshold;
  BatchLimits batch_limits{};
  ChannelPriorities channels{};
  Rules rules{};
  AgentTemplates templates{};
  std::uint32_t max_tasks = kDefaultMaxTasks;  // that are open at once
  std::vector<std::string> warnings{};
};

struct ConfigSource {
  std::string_view text{};
  std::string name{};                              // of the file, in messages
  std::optional<std::string_view> secrets_text{};  // of secrets.yaml, if there is one
  std::string secrets_name{};
  Lookup lookup{};
};

// Keys that the buffer does not know have a warning in the sections of the buffer; other sections
// belong to other programs. Errors: kInvalid; the text has a line for each mistake,
// FILE:LINE:COLUMN: TEXT, at most 20.
[[nodiscard]] Result<Config> read_config(const ConfigSource& source);

}  // namespace beeline::buffer
