#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <beeline/result.h>

#include "src/control/client.h"
#include "tools/beeline/options.h"
#include "tools/beeline/output.h"

namespace beeline::cli {

// Each function adds its verbs to the command line. A verb that ran leaves its exit code in the
// context, which outlives the App.
void add_hive_verbs(CLI::App& app, Context& context);  // up, down
void add_status_verb(CLI::App& app, Context& context);
void add_ls_verb(CLI::App& app, Context& context);
void add_look_verbs(CLI::App& app, Context& context);  // tree, route, inbox
void add_help_verbs(CLI::App& app, Context& context);  // help, version
void add_completion_verbs(CLI::App& app, Context& context);
void add_forget_verb(CLI::App& app, Context& context);
void add_info_verb(CLI::App& app, Context& context);
void add_doctor_verb(CLI::App& app, Context& context);
void add_send_verbs(CLI::App& app, Context& context);  // send, request
void add_exec_verb(CLI::App& app, Context& context);
void add_receive_verbs(CLI::App& app, Context& context);  // recv
void add_reply_verb(CLI::App& app, Context& context);
void add_pipe_verb(CLI::App& app, Context& context);
void add_letters_verbs(CLI::App& app, Context& context);  // dlq
void add_history_verbs(CLI::App& app, Context& context);  // history, log, tail, trace
void add_broadcast_verb(CLI::App& app, Context& context);
void add_run_verb(CLI::App& app, Context& context);
void add_demo_verb(CLI::App& app, Context& context);
// The hidden verb behind the processes of the demo.
void add_demo_role_verb(CLI::App& app, Context& context);

// The hive, its processes and the time of its start.
[[nodiscard]] Json status_json(const control::StatusAnswer& status, const std::string& socket);

// Connects to the coordinator and never starts one: for verbs that only look.
[[nodiscard]] Result<control::Client> connect_to_look(const Context& context);

// The newest agent of that name or pid that is not finally dead. Errors: kNoAgent, those of the
// client.
[[nodiscard]] Result<control::Pid> find_agent(control::Client& client, const std::string& name);

// The options of an attach that every agent of this program shares.
[[nodiscard]] AttachOptions attach_options(const Context& context);

}  // namespace beeline::cli
