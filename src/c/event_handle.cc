#include "src/c/event_handle.h"

#include <utility>

#include "src/c/failure.h"
#include "src/c/task_words.h"

using beeline::c::bytes_of;
using beeline::c::pairs_of;

beeline_event::beeline_event(const beeline::TaskProgress& progress)
    : task(progress.task),
      kind(progress.kind == beeline::TaskProgress::Kind::kLog ? BEELINE_EVENT_LOG
                                                              : BEELINE_EVENT_UPDATE),
      text(progress.text) {}

void beeline_event::end(beeline::Result<beeline::TaskResult> result) {
  kind = BEELINE_EVENT_END;
  has_outcome_ = result.has_value();
  if (result) {
    result_ = std::move(*result);
  } else {
    code = beeline::c::code_of(result.error().code);
    text = std::move(result.error().text);
  }
}

void beeline_event::prepare() {
  if (!has_outcome_) return;
  artifacts_ = pairs_of(result_.artifacts);
  metadata_ = pairs_of(result_.metadata);
  beeline_outcome_init(&outcome_);
  outcome_.exit_code = result_.exit_code;
  outcome_.output = bytes_of(result_.output);
  outcome_.artifacts = artifacts_.data();
  outcome_.artifact_count = artifacts_.size();
  outcome_.metadata = metadata_.data();
  outcome_.metadata_count = metadata_.size();
}

beeline_id beeline_event_task(const beeline_event* event) {
  return event == nullptr ? 0 : event->task;
}
int32_t beeline_event_kind(const beeline_event* event) {
  return event == nullptr ? BEELINE_EVENT_END : event->kind;
}
beeline_code beeline_event_code(const beeline_event* event) {
  return event == nullptr ? beeline::c::missing(__func__, "event") : event->code;
}
const char* beeline_event_text(const beeline_event* event, size_t* length) {
  if (length != nullptr) *length = event == nullptr ? 0 : event->text.size();
  return event == nullptr ? "" : event->text.c_str();
}
const beeline_outcome* beeline_event_outcome(const beeline_event* event) {
  return event == nullptr ? nullptr : event->outcome();
}
void beeline_event_free(beeline_event* event) { delete event; }
