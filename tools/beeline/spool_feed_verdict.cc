#include "tools/beeline/spool_feed_verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/beeline/spool_feed_note.h"

namespace beeline::cli {
namespace {

constexpr std::array<const char*, 5> kResultKeys = {"output", "verdict", "verdict_reason", "status",
                                                    "error"};

// Why the task failed; empty if it did not.
std::string failure_in(const Json& json, const spool::Completion& completion) {
  std::string error = text_in(json, "error");
  if (!error.empty() || completion.status != "failed") return error;
  if (!completion.verdict_reason.empty()) return completion.verdict_reason;
  return completion.output.empty() ? "the agent gave no reason" : completion.output;
}

}  // namespace

FeedVerdict FeedVerdict::of(Message answer) {
  FeedVerdict verdict;
  spool::Completion& completion = verdict.completion;
  const Json json = object_in(answer.text());
  const auto has = [&json](const char* key) { return json.contains(key); };
  if (!json.is_object() || std::none_of(kResultKeys.begin(), kResultKeys.end(), has)) {
    completion.output = answer.text();
  } else {
    completion.output = text_in(json, "output");
    completion.verdict_reason = text_in(json, "verdict_reason");
    if (has("verdict")) completion.verdict = text_in(json, "verdict");
    if (has("status")) completion.status = text_in(json, "status");
    verdict.error = failure_in(json, completion);
    if (!verdict.error.empty()) verdict.way = Way::kFail;
  }
  verdict.answer = std::move(answer);
  return verdict;
}

FeedVerdict FeedVerdict::without_answer(const Error& error, bool has_timeout) {
  FeedVerdict verdict;
  if (error.code == ErrorCode::kUnanswered) {
    verdict.completion.verdict_reason = "the agent finished the task without an answer";
    return verdict;
  }
  verdict.way = error.code == ErrorCode::kRejected ? Way::kFail : Way::kRetry;
  verdict.error = error.text;
  if (!has_timeout && error.text.ends_with(" before the deadline")) {
    verdict.error.erase(error.text.find_last_of(";,"));
  }
  return verdict;
}

}  // namespace beeline::cli
