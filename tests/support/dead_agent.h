#pragma once
// An agent that has ended for good, at a coordinator without a process: its home, its in-links, and
// its own links with receipts. While it lives it is a real receiver. A test may write to all of its
// memory, as their owners could.

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shm/extension.h"
#include "src/control/death.h"
#include "src/control/takeover.h"
#include "src/os/clock.h"
#include "tests/support/bare_hive.h"
#include "tests/support/in_links.h"

namespace beeline::test {

// The descriptors that an agent hands in with `provide`, beside its home.
inline Result<std::vector<os::UniqueFd>> segments_of(const control::Caller& caller, int home) {
  auto page = segment::Owned::create("bare", shm::kStatusBytes, shm::kStatusBytes);
  if (!page) return tl::unexpected(page.error());
  shm::init_status(*reinterpret_cast<shm::StatusPage*>(page->data()), caller.pid,
                   caller.incarnation);
  std::vector<os::UniqueFd> fds;
  for (const int fd : {home, page->fd()}) {
    auto copy = os::duplicate(fd);
    if (!copy) return tl::unexpected(copy.error());
    fds.push_back(std::move(*copy));
  }
  fds.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return fds;
}

class DeadAgent {
 public:
  static constexpr shm::LinkContract kContract{8, 4, shm::kMinMaxPayload};

  // An agent that may send to it.
  struct Sender {
    control::Caller caller;
    std::optional<send::OutLink> own;   // its link to the agent
    std::optional<send::OutLink> back;  // the agent's link to it, for receipts
    receive::InLink* link = nullptr;    // the agent's mapping of `own`
    std::uint64_t sent = 0;
    std::uint64_t positions[shm::kLanes] = {0, 0};
  };

  // Starts alive. Throws std::runtime_error if the machine lacks something.
  explicit DeadAgent(std::uint32_t capacity = shm::kMinInboxCapacity)
      : world_(must(BareHive::make(outbox_, kContract.max_payload_bytes))) {
    self_ = attach("victim", true);
    shm::HomeOptions options;
    options.capacity = capacity;
    receiver_ = std::make_unique<receive::Receiver>(
        must(receive::HomeMemory::create("bare", self_.pid, self_.incarnation, options)));
    receiver_->home().set_ready();
    provide(self_, receiver_->home().fd());
  }

  [[nodiscard]] BareHive& world() { return *world_; }
  [[nodiscard]] control::Hive& hive() { return world_->hive(); }
  [[nodiscard]] const control::Caller& self() const { return self_; }
  // Its inbox; the caller acts as the living agent.
  [[nodiscard]] receive::Receiver& inbox() { return *receiver_; }
  [[nodiscard]] std::span<std::byte> home_bytes() const {
    const segment::Owned& memory = receiver_->home().memory();
    return {memory.data(), memory.size()};
  }

  // Adds an agent that may send to it, with links both ways.
  Sender& join(const std::string& name) {
    Sender& sender = senders_.emplace_back();
    sender.caller = attach(name, false);
    homes_.push_back(must(
        receive::HomeMemory::create("bare", sender.caller.pid, sender.caller.incarnation, {})));
    provide(sender.caller, homes_.back()->fd());
    sender.own.emplace(open(sender.caller, self_.pid, 1));
    sender.back.emplace(
        open(self_, sender.caller.pid, static_cast<std::uint32_t>(senders_.size())));
    sender.link = must(add_in_link(*receiver_, *sender.own, sender.caller.pid));
    sender.link->set_relation(Relation::kChild, false);
    show_receipts(*sender.link, *sender.back);
    return sender;
  }

  // A sound header, with the next id.
  static shm::MessageHeader header_of(const Sender& sender) {
    shm::MessageHeader header{};
    header.id = shm::make_message_id(sender.caller.pid, sender.sent + 1);
    header.sent_ns = os::coarse_ns();
    header.rank = shm::kRankNormal;
    header.slab = shm::kNoSlab.value();
    return header;
  }
  // Publishes a message and returns its id. `area`: the kInlineBytes that lie in the slot.
  static std::uint64_t publish(Sender& sender, const shm::MessageHeader& header,
                               shm::Lane lane = shm::Lane::kNormal, const void* area = nullptr,
                               std::uint64_t generation = 0) {
    static constexpr char kNothing[shm::kInlineBytes] = {};
    std::uint64_t& position = sender.positions[static_cast<std::size_t>(lane)];
    shm::publish_slot(sender.own->view().slot(lane, position), position, header, generation,
                      area == nullptr ? kNothing : area);
    ++position;
    ++sender.sent;
    return header.id;
  }
  static std::uint64_t say(Sender& sender, const std::string& text,
                           shm::Lane lane = shm::Lane::kNormal) {
    char area[shm::kInlineBytes] = {};
    shm::MessageHeader header = header_of(sender);
    header.length = static_cast<std::uint32_t>(text.copy(area, sizeof(area)));
    return publish(sender, header, lane, area);
  }
  // Publishes a message with its payload in a slab.
  static std::uint64_t say_large(Sender& sender, std::uint32_t length, char filling) {
    const auto loan = sender.own->take_slab(length);
    if (!loan) throw std::runtime_error("no slab is free");
    std::memset(sender.own->slab_bytes(*loan), filling, length);
    shm::MessageHeader header = header_of(sender);
    header.flags = shm::kFlagSlab;
    header.length = length;
    header.slab = loan->slab.value();
    return publish(sender, header, shm::Lane::kNormal, nullptr, loan->generation);
  }

  // Ends its process for good.
  void die() { die(self_); }
  // The same of a sender.
  void die(const control::Caller& caller) {
    control::Agent& agent = *hive().registry.agent(caller.pid);
    agent.temporary = true;
    control::end_life(hive(), agent, *agent.life(caller.incarnation), control::LifeEnd::kDied);
    world_->forget_records();
  }
  // The coordinator takes over. False if it needs more steps than it may take.
  bool take_over() {
    control::TakeoverWorker worker;
    for (std::uint32_t steps = 0; steps < kMostSteps; ++steps) {
      const bool more = worker.step(hive());
      world_->forget_records();
      if (!more) return true;
    }
    return false;
  }
  [[nodiscard]] const std::deque<control::DeadLetter>& letters() {
    return hive().dead_letters.kept();
  }
  // The letter of a message; null if there is none.
  [[nodiscard]] const control::DeadLetter* letter(std::uint64_t id) {
    return hive().dead_letters.find(id, self_.pid);
  }

 private:
  // The table in steps of 256 entries, two lanes of each link, and some more.
  static constexpr std::uint32_t kMostSteps = shm::kMaxEntries / 256 + 100;

  template <typename T>
  static T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().text);
    return std::move(*result);
  }
  void say_to_hive(control::Caller& caller, const control::Request& request,
                   std::vector<os::UniqueFd> fds) {
    const auto done = world_->say(caller, control::build(request, 1), std::move(fds));
    if (!done) throw std::runtime_error(done.error().text);
  }
  control::Caller attach(const std::string& name, bool temporary) {
    control::Caller caller = must(world_->connect());
    control::AttachRequest request;
    request.name = name;
    request.temporary = temporary;
    say_to_hive(caller, request, {});
    return caller;
  }
  void provide(control::Caller& caller, int home) {
    say_to_hive(caller, control::ProvideRequest{true}, must(segments_of(caller, home)));
  }
  send::OutLink open(control::Caller& caller, control::Pid to, std::uint32_t serial) {
    const shm::LinkKey key{caller.incarnation, serial};
    auto link = must(send::OutLink::create("bare", caller.pid, to, key, kContract));
    control::OpenRequest request;
    request.to = to;
    request.serial = serial;
    request.contract = kContract;
    std::vector<os::UniqueFd> fds;
    fds.push_back(must(os::duplicate(link.memory().fd())));
    say_to_hive(caller, request, std::move(fds));
    return link;
  }

  DeafOutbox outbox_;
  std::unique_ptr<BareHive> world_;
  control::Caller self_;
  std::deque<Sender> senders_;  // must outlive the receiver, which reads their memory
  std::vector<std::unique_ptr<receive::HomeMemory>> homes_;
  std::unique_ptr<receive::Receiver> receiver_;
};

}  // namespace beeline::test
