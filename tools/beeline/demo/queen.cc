// The queen of the demo: cuts the texts, gives the tasks to the lead and sums the results.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

// Tasks without a result at a time; far below a quarter of the lead's table.
constexpr std::size_t kWindow = 256;

class Queen {
 public:
  Queen(const EventWriter& events, Agent& agent, std::vector<std::string> texts)
      : events_(events), agent_(agent), texts_(std::move(texts)) {}

  // Returns once `finish` has come.
  Result<void> run() {
    const auto handle = [this](Message& message) { return take(message); };
    const auto served = agent_.serve(handle, {.until = after(kPatience)});
    if (!served) return tl::unexpected(served.error());
    if (failure_) return tl::unexpected(*failure_);
    if (!is_finished_) return fail(ErrorCode::kTimeout, "the work did not end in time");
    return {};
  }

  [[nodiscard]] Peer lead() const { return lead_; }

 private:
  Ack take(const Message& message) {
    if (message.type() == kReadyType) {
      const auto lead = agent_.peer(message.from());
      if (lead) lead_ = *lead;
      if (!lead) give_up(lead.error());
      give_tasks();
    }
    if (message.type() == kFinishType) {
      is_finished_ = true;
      agent_.stop_serving();
    }
    return {};
  }

  void give_up(Error error) {
    failure_ = std::move(error);
    agent_.stop_serving();
  }

  void give_tasks() {
    while (!failure_ && given_ < texts_.size() && given_ - results_ < kWindow) {
      Task task;
      task.id = fmt::format("{}", given_);
      task.description = "count lines, words and bytes";
      task.context = texts_[given_];
      if (given_ == texts_.size() / 2) task.params[std::string(kHoldParam)] = "yes";
      const auto then = [this](Result<TaskResult> result) { sum_up(result); };
      const auto id = agent_.tasks().execute_then(lead_, task, then);
      // The next result makes room.
      if (!id && id.error().code == ErrorCode::kFull && results_ < given_) return;
      if (!id) return give_up(id.error());
      ++given_;
    }
  }

  void sum_up(const Result<TaskResult>& result) {
    if (!result) return give_up(result.error());
    const auto totals = parse_totals(result->output);
    if (!totals) return give_up({ErrorCode::kProtocol, 0, "a result has no numbers"});
    totals_ += *totals;
    if (++results_ == texts_.size()) report();
    give_tasks();
  }

  void report() const {
    events_.write(kSum, {{"tasks", results_},
                         {"lines", totals_.lines},
                         {"words", totals_.words},
                         {"bytes", totals_.bytes}});
  }

  const EventWriter& events_;
  Agent& agent_;
  Peer lead_;
  std::vector<std::string> texts_;
  std::size_t given_ = 0;
  std::size_t results_ = 0;
  Totals totals_;
  std::optional<Error> failure_;
  bool is_finished_ = false;
};

Result<std::vector<std::string>> read_texts(const std::string& directory) {
  const auto files = list_files(directory);
  if (!files) return tl::unexpected(files.error());
  return cut_into_tasks(*files);
}

}  // namespace

Result<void> run_queen(const RoleArguments& arguments, const EventWriter& events) {
  auto texts = read_texts(arguments.directory);
  if (!texts) return tl::unexpected(std::move(texts.error()));
  auto agent = attach_role();
  if (!agent) return tl::unexpected(std::move(agent.error()));
  RoleArguments child = arguments;
  child.role = child.name = kLead;
  const auto lead = agent->processes().spawn(child_of_role(child));
  if (!lead) return tl::unexpected(lead.error());

  Queen queen(events, *agent, std::move(*texts));
  if (auto ran = queen.run(); !ran) return ran;
  SendOptions options;
  options.type = kFinishType;
  if (auto sent = deliver(*agent, queen.lead(), "", options); !sent) return sent;
  if (auto ended = await_ends(*agent, {lead->pid}); !ended) return ended;
  close_accounts(*agent, events);
  return {};
}

}  // namespace beeline::cli::demo
