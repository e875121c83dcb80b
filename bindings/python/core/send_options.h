#pragma once
// The options of a send, and the filter of a receive, as keywords.

#include <beeline/c.h>

#include <array>
#include <span>

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/names.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

inline constexpr std::array kSendOptions = {Name::kType,    Name::kChannel, Name::kRank,
                                            Name::kReplyTo, Name::kCause,   Name::kTtl,
                                            Name::kTrace,   Name::kHops,    Name::kRequiresAck,
                                            Name::kInherit, Name::kAbout,   Name::kCancelOnTimeout};

// The texts in it belong to the arguments.
class SendOptions {
 public:
  // `given`: in the order of kSendOptions. False: an exception is set.
  [[nodiscard]] bool read(std::span<PyObject* const> given);
  // The last step, after Attachment::enter(): the held message that the send is about. False: an
  // exception is set.
  [[nodiscard]] bool bind(Attachment& agent);

  // As if `requires_ack` had been given.
  void require_ack();
  [[nodiscard]] bool is_about() const { return about_ != nullptr; }
  // Null where no option was given.
  [[nodiscard]] const beeline_send_options* get() const { return is_plain_ ? nullptr : &options_; }

 private:
  beeline_send_options options_;
  PyObject* about_ = nullptr;
  bool is_plain_ = true;
};

inline constexpr std::array kFilterOptions = {Name::kSender, Name::kType, Name::kChannel,
                                              Name::kReplyTo, Name::kOldestFirst};

// The texts in it belong to the arguments.
class Filter {
 public:
  // `given`: in the order of kFilterOptions. False: an exception is set.
  [[nodiscard]] bool read(std::span<PyObject* const> given);
  // Null where no option was given.
  [[nodiscard]] const beeline_filter* get() const { return is_plain_ ? nullptr : &filter_; }

 private:
  beeline_filter filter_;
  bool is_plain_ = true;
};

// Reads the text form of a trace. False: an exception is set.
[[nodiscard]] bool read_trace(PyObject* from, beeline_trace* into);
// An empty str where there is none. Null: an exception is set.
[[nodiscard]] PyObject* trace_text(const beeline_trace& trace);

}  // namespace beeline::python
