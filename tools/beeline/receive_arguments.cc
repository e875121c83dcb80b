#include "tools/beeline/receive_arguments.h"

#include <signal.h>

#include "tools/beeline/verbs.h"

namespace beeline::cli {

void add_receive_arguments(CLI::App& verb, ReceiveArguments& arguments) {
  verb.add_option("NAME", arguments.name, "The agent to be")->required()->check(is_agent());
  verb.add_option("--count", arguments.count, "End after this many messages; 0 = never")
      ->capture_default_str();
  verb.add_option("--type", arguments.type, "Only messages of this type; the others wait")
      ->check(is_label("type"));
  verb.add_option("--channel", arguments.channel, "Only messages of this channel")
      ->check(is_label("channel"));
  add_attach_options(verb, arguments.attach);
  verb.add_flag("--temporary", arguments.temporary,
                "Forget NAME at the end; messages that still wait for it become dead letters");
}

AttachOptions receive_options(const Context& context, const ReceiveArguments& arguments) {
  AttachOptions options = attach_options(context);
  options.name = arguments.name;
  options.parent = arguments.attach.parent;
  options.role = arguments.attach.role;
  options.temporary = arguments.temporary;
  return options;
}

Filter receive_filter(const ReceiveArguments& arguments) {
  Filter filter;
  filter.type = arguments.type;
  filter.channel = arguments.channel;
  return filter;
}

Result<Signals> stop_signals() { return Signals::block({SIGINT, SIGTERM, SIGHUP}); }

}  // namespace beeline::cli
