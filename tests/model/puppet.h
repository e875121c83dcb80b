#pragma once
// A puppet: an agent in a process of its own that obeys the driver's commands, one after the other,
// and answers each.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <beeline/broadcast.h>
#include <beeline/types.h>

#include "tests/model/mailbox_model.h"
#include "tests/support/shared_memory.h"

namespace beeline::test {

enum class Verb : std::uint8_t {
  kAttach,
  kSend,
  kForget,  // fire_and_forget()
  kBroadcast,
  kControl,  // send_control()
  kCancel,
  kReply,
  kLook,
  kReceive,
  kDone,
  kRequeue,
  kPutBack,
  kReject,
  kDefer,
  kEscalate,
  kDrainResults,
  kAwaitAck,
  kRevive,
  kPurge,
  kLeave,
};

// A text that lies in shared memory.
template <std::size_t N>
struct SharedText {
  char text[N];
  std::uint8_t length;
  void set(std::string_view from) { length = static_cast<std::uint8_t>(from.copy(text, N)); }
  [[nodiscard]] std::string_view view() const { return {text, length}; }
};

inline constexpr std::size_t kMostItems = 400;

struct PuppetItem {
  MessageId id;
  MessageId reply_to;
  Pid from;
  std::int32_t rank;
  std::uint32_t attempts;
  std::int64_t sent_ns;
  bool stashed;
  bool leased;
  bool dead;
  SharedText<48> type;
  SharedText<24> preview;
  SharedText<16> reason;
};

inline constexpr std::size_t kMostPuppets = 30;

// The outcome of a broadcast for one of its targets.
struct PuppetDelivery {
  Pid pid;
  SendStatus status;
  MessageId id;
};

struct PuppetCommand {
  Verb verb;
  // Attach.
  SharedText<32> name;
  SharedText<16> parent;
  SharedText<16> role;
  bool temporary;
  std::uint32_t capacity;
  std::uint32_t max_attempts;
  std::uint32_t normal_slots;
  std::uint32_t urgent_slots;
  // Send.
  Pid to;
  Group::Kind group;  // of a broadcast; kRole: all workers
  std::uint32_t number;
  std::uint32_t bytes;  // of the payload, at least
  std::int32_t rank;
  SharedText<31> type;
  MessageId reply_to;
  bool requires_ack;
  // The message that the command is about.
  MessageId id;
};

struct PuppetAnswer {
  bool good;
  SharedText<200> error;
  Pid pid;
  Pid parent;
  SendStatus status;
  MessageId id;
  AckStatus ack;
  SharedText<64> text;
  std::uint32_t items_count;
  std::array<PuppetItem, kMostItems> items;
  std::uint32_t links_count;
  std::array<LinkCounters, 64> links;
  InboxCounters counters;
  std::uint32_t deliveries_count;
  std::array<PuppetDelivery, kMostPuppets> deliveries;
  std::uint32_t taken_count;
  std::array<Taken, kMostItems> taken;
};

struct PuppetStage {
  Event asked;
  Event answered;
  std::uint32_t served;  // commands of the lives before
  PuppetCommand command;
  PuppetAnswer answer;
};

struct PuppetBoard {
  std::array<PuppetStage, kMostPuppets> stages;
};

}  // namespace beeline::test
