#include <beeline/message.h>

#include <utility>

#include <fmt/format.h>

#include "src/agent/core.h"
#include "src/control/trace_text.h"

namespace beeline {

MessageId Message::id() const { return core_->receiver().entry(shm::EntryIndex(entry_)).header.id; }
Pid Message::from() const { return shm::pid_of_message(id()); }
std::string_view Message::from_name() const {
  return core_->receiver().entries().sender_name(shm::EntryIndex(entry_));
}
MessageId Message::reply_to() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).header.reply_to;
}
MessageId Message::cause() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).cause();
}
std::uint32_t Message::hops() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).header.hops;
}
TraceContext Message::trace() const {
  return control::trace_of(core_->receiver().entry(shm::EntryIndex(entry_)).extension());
}
std::uint32_t Message::ttl_ms() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).header.ttl_ms;
}
std::int32_t Message::rank() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).header.rank;
}
Relation Message::relation() const { return core_->family().relation_of(shm::EntryIndex(entry_)); }
std::string_view Message::type() const { return core_->leases().type_of(shm::EntryIndex(entry_)); }
std::string_view Message::channel() const {
  return core_->leases().channel_of(shm::EntryIndex(entry_));
}
std::int64_t Message::sent_ns() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).header.sent_ns;
}
std::uint32_t Message::attempts() const {
  return core_->receiver().entry(shm::EntryIndex(entry_)).word().attempts;
}
bool Message::redelivered() const {
  return attempts() != 0 || core_->receiver().entry(shm::EntryIndex(entry_)).is_revived();
}
std::span<const std::byte> Message::payload() const {
  return core_->receiver().payload(shm::EntryIndex(entry_));
}
std::string_view Message::text() const {
  const auto bytes = payload();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Pid Message::via() const { return core_->family().via_of(shm::EntryIndex(entry_)); }
bool Message::has(std::uint16_t flag) const {
  return (core_->receiver().entry(shm::EntryIndex(entry_)).header.flags & flag) != 0;
}
bool Message::is_copy() const { return has(shm::kFlagCopy); }
Pid Message::to() const {
  return is_copy() ? core_->receiver().entry(shm::EntryIndex(entry_)).extension().addressee
                   : core_->pid();
}
bool Message::is_cut() const { return has(shm::kFlagCut); }
std::uint64_t Message::full_length() const {
  const shm::Entry& entry = core_->receiver().entry(shm::EntryIndex(entry_));
  return is_cut() ? entry.extension().full_length : entry.header.length;
}
bool Message::is_control() const { return has(shm::kFlagControl); }
bool Message::requires_ack() const { return has(shm::kFlagRequiresAck); }
bool Message::cancelled() { return core_->leases().is_cancelled(shm::EntryIndex(entry_)); }

void Message::done(std::string_view reply) {
  if (valid()) std::exchange(core_, nullptr)->leases().done(shm::EntryIndex(entry_), reply);
}
void Message::requeue() {
  if (valid()) std::exchange(core_, nullptr)->leases().requeue(shm::EntryIndex(entry_));
}
void Message::put_back() {
  if (valid())
    std::exchange(core_, nullptr)->leases().requeue(shm::EntryIndex(entry_), shm::Cost::kNothing);
}
void Message::let_go() {
  if (valid()) std::exchange(core_, nullptr)->leases().let_go(shm::EntryIndex(entry_));
}
void Message::reject(std::string_view reply) {
  if (valid()) std::exchange(core_, nullptr)->leases().reject(shm::EntryIndex(entry_), reply);
}
void Message::defer() { core_->leases().defer(shm::EntryIndex(entry_)); }
SendResult Message::escalate() {
  const SendResult sent = core_->escalations().escalate(shm::EntryIndex(entry_));
  if (sent) core_ = nullptr;
  return sent;
}

Loan::Loan(Loan&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)),
      peer_(other.peer_),
      data_(other.data_),
      size_(other.size_),
      slab_(other.slab_),
      generation_(other.generation_) {}

Loan& Loan::operator=(Loan&& other) noexcept {
  if (this != &other) {
    if (valid()) core_->sender().give_back(*this);
    core_ = std::exchange(other.core_, nullptr);
    peer_ = other.peer_;
    data_ = other.data_;
    size_ = other.size_;
    slab_ = other.slab_;
    generation_ = other.generation_;
  }
  return *this;
}

Result<void> Loan::shrink(std::size_t bytes) {
  if (bytes > size_) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("a loan of {} bytes cannot become one of {}: it only shrinks; ask for a "
                    "loan of the size that the message needs",
                    size_, bytes));
  }
  size_ = bytes;
  return {};
}

Loan::~Loan() {
  if (valid()) core_->sender().give_back(*this);
}

}  // namespace beeline
