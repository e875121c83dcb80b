#pragma once

// recv and reply share these options: both receive under a name.

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include <beeline/types.h>

#include "tools/beeline/options.h"
#include "tools/beeline/signals.h"

namespace beeline::cli {

struct ReceiveArguments {
  std::string name;
  AttachArguments attach;
  bool temporary = false;
  std::uint64_t count = 0;  // 0: until stopped
  std::string type;
  std::string channel;
};

void add_receive_arguments(CLI::App& verb, ReceiveArguments& arguments);

[[nodiscard]] AttachOptions receive_options(const Context& context,
                                            const ReceiveArguments& arguments);

// The messages that the options select. The views refer to `arguments`.
[[nodiscard]] Filter receive_filter(const ReceiveArguments& arguments);

// The signals that end a verb which receives. Errors: kSystem.
[[nodiscard]] Result<Signals> stop_signals();

}  // namespace beeline::cli
