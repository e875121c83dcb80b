// The queen of the demo: cuts the texts, sends the tasks to the lead and sums the results.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/beeline/demo/role.h"

namespace beeline::cli::demo {
namespace {

// Tasks without a result at a time; far below the capacity of the lead's inbox.
constexpr std::size_t kWindow = 256;

class Queen {
 public:
  Queen(const EventWriter& events, Agent& agent, std::vector<std::string> tasks)
      : events_(events), agent_(agent), tasks_(std::move(tasks)), counted_(tasks_.size()) {}

  // Returns once `finish` has come.
  Result<void> run() {
    for (;;) {
      ReceiveOptions options;
      options.timeout = kPatience;
      auto message = agent_.receive(options);
      if (!message) return tl::unexpected(std::move(message.error()));
      if (message->type() == kReadyType) {
        const auto lead = agent_.peer(message->from());
        if (!lead) return tl::unexpected(lead.error());
        lead_ = *lead;
      }
      if (message->type() == kResultType) take(*message);
      const bool finish = message->type() == kFinishType;
      message->done();
      if (finish) return {};
      if (auto sent = send_tasks(); !sent) return sent;
    }
  }

  [[nodiscard]] Peer lead() const { return lead_; }

 private:
  void take(const Message& message) {
    const auto result = parse_result(message.text());
    if (!result || result->task >= counted_.size()) return;
    if (counted_[result->task]) {
      ++duplicates_;
      return;
    }
    counted_[result->task] = true;
    totals_ += result->totals;
    if (++results_ == tasks_.size()) report();
  }

  Result<void> send_tasks() {
    while (lead_.valid() && sent_ < tasks_.size() && sent_ - results_ < kWindow) {
      SendOptions options;
      options.type = sent_ == tasks_.size() / 2 ? kHoldType : kTaskType;
      if (auto sent = deliver(agent_, lead_, fmt::format("{}\n{}", sent_, tasks_[sent_]), options);
          !sent) {
        return sent;
      }
      ++sent_;
    }
    return {};
  }

  void report() const {
    events_.write(kSum, {{"tasks", results_},
                         {"duplicates", duplicates_},
                         {"lines", totals_.lines},
                         {"words", totals_.words},
                         {"bytes", totals_.bytes}});
  }

  const EventWriter& events_;
  Agent& agent_;
  Peer lead_;
  std::vector<std::string> tasks_;
  std::vector<bool> counted_;
  std::size_t sent_ = 0;
  std::size_t results_ = 0;
  std::size_t duplicates_ = 0;
  Totals totals_;
};

Result<std::vector<std::string>> read_tasks(const std::string& directory) {
  const auto files = list_files(directory);
  if (!files) return tl::unexpected(files.error());
  return cut_into_tasks(*files);
}

}  // namespace

Result<void> run_queen(const RoleArguments& arguments, const EventWriter& events) {
  auto tasks = read_tasks(arguments.directory);
  if (!tasks) return tl::unexpected(std::move(tasks.error()));
  auto agent = attach_role(arguments, "", "architect");
  if (!agent) return tl::unexpected(std::move(agent.error()));
  RoleArguments child = arguments;
  child.role = child.name = kLead;
  const auto lead_process = start_role(child);
  if (!lead_process) return tl::unexpected(lead_process.error());

  Queen queen(events, *agent, std::move(*tasks));
  if (auto ran = queen.run(); !ran) return ran;
  SendOptions options;
  options.type = kFinishType;
  if (auto sent = deliver(*agent, queen.lead(), "", options); !sent) return sent;
  if (const auto ended = await_exit(*lead_process, kPatience); !ended) {
    return tl::unexpected(ended.error());
  }
  close_accounts(*agent, events);
  return {};
}

}  // namespace beeline::cli::demo
