#pragma once
// The options of attach() as keywords.

#include <beeline/c.h>

#include <array>
#include <span>

#include "bindings/python/core/attachment.h"
#include "bindings/python/core/names.h"
#include "bindings/python/core/python.h"

namespace beeline::python {

inline constexpr std::array kAttachOptions = {Name::kHive,          Name::kName,
                                              Name::kParent,        Name::kRole,
                                              Name::kTemporary,     Name::kStartCoordinator,
                                              Name::kRaiseFdLimit,  Name::kControlTimeout,
                                              Name::kOrder,         Name::kWait,
                                              Name::kSpin,          Name::kAgingFactor,
                                              Name::kInboxCapacity, Name::kMaxAttempts,
                                              Name::kRetryPause,    Name::kMaxHops,
                                              Name::kNormalSlots,   Name::kUrgentSlots,
                                              Name::kSendBurst,     Name::kMaxPayloadBytes,
                                              Name::kSendRate,      Name::kReceiveRate,
                                              Name::kReceiveBurst};

// The texts in it belong to the arguments.
struct AttachOptions {
  beeline_attach_options options;

  // `given`: in the order of kAttachOptions; None is the default. False: an exception is set.
  [[nodiscard]] bool read(std::span<PyObject* const> given);
  [[nodiscard]] Patience patience() const { return {options.wait, options.spin_ns}; }
};

}  // namespace beeline::python
