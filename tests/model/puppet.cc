#include "tests/model/puppet.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/hive_test.h"

namespace beeline::test {
namespace {

// The start of a payload: '#' and a number. 0: it has none.
std::uint32_t number_in(const std::string& text) {
  if (text.empty() || text[0] != '#') return 0;
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + 1, nullptr, 10));
}

class Puppet {
 public:
  Puppet(const PuppetCommand& command, PuppetAnswer& answer) : command_(command), answer_(answer) {}

  // False if it has left.
  bool obey() {
    answer_.good = true;
    answer_.status = SendStatus::kOk;
    answer_.id = 0;
    answer_.items_count = answer_.links_count = answer_.taken_count = 0;
    answer_.deliveries_count = 0;
    if (command_.verb == Verb::kAttach) {
      join();
      return true;
    }
    listen();
    act();
    if (command_.verb == Verb::kLeave) return false;
    listen();  // this call also sends owed acknowledgements
    return true;
  }

 private:
  void fail_with(std::string_view text) {
    answer_.good = false;
    answer_.error.set(text);
  }

  void join() {
    AttachOptions options;
    options.name = command_.name.view();
    options.parent = command_.parent.view();
    options.role = command_.role.view();
    options.temporary = command_.temporary;
    options.start_coordinator = false;
    options.aging_factor = 0;
    options.inbox_capacity = command_.capacity;
    options.max_attempts = command_.max_attempts;
    options.normal_slots = command_.normal_slots;
    options.urgent_slots = command_.urgent_slots;
    auto agent = Agent::attach(options);
    if (!agent) return fail_with(agent.error().text);
    agent_ = std::move(*agent);
    answer_.pid = agent_->pid();
    answer_.parent = agent_->parent();
  }

  // Reads the coordinator's announcements.
  void listen() {
    while (agent_->next_notice()) {
    }
  }

  void act() {
    switch (command_.verb) {
      case Verb::kSend:
      case Verb::kForget:
      case Verb::kControl:
      case Verb::kCancel:
        return send();
      case Verb::kBroadcast:
        return broadcast();
      case Verb::kReply:
        result(agent_->reply(lease(), payload(), options()));
        return forget_ended();
      case Verb::kLook:
        return look();
      case Verb::kReceive:
        look();
        return receive();
      case Verb::kDrainResults:
        look();
        return drain_results();
      case Verb::kAwaitAck:
        return await_ack();
      case Verb::kRevive:
        if (auto done = agent_->requeue_dead(command_.id); !done) fail_with(done.error().text);
        return;
      case Verb::kPurge:
        agent_->purge_all_dead();
        return;
      case Verb::kLeave:
        leases_.clear();
        listen();
        agent_.reset();
        return;
      default:
        return finish();
    }
  }

  [[nodiscard]] std::string payload() const {
    std::string text = "#" + std::to_string(command_.number);
    if (text.size() < command_.bytes) text.resize(command_.bytes, ' ');
    return text;
  }

  [[nodiscard]] SendOptions options() const {
    return {.rank = command_.rank,
            .type = command_.type.view(),
            .reply_to = command_.reply_to,
            .inherit = false,
            .requires_ack = command_.requires_ack};
  }

  void result(const SendResult& sent) {
    answer_.status = sent.status;
    answer_.id = sent.id;
  }

  void send() {
    const auto to = agent_->peer(command_.to);
    if (!to) return refuse(to.error());
    switch (command_.verb) {
      case Verb::kForget:
        return result(agent_->fire_and_forget(*to, payload(), options()));
      case Verb::kControl:
        return result(agent_->send_control(*to, command_.type.view(), payload(), options()));
      case Verb::kCancel:
        return result(agent_->cancel(*to, command_.id));
      default:
        return result(agent_->send(*to, payload(), options()));
    }
  }

  void broadcast() {
    const Group group{command_.group, std::string(kWorkers)};
    for (const Delivery& each : agent_->broadcast(group, payload(), options())) {
      if (answer_.deliveries_count == kMostPuppets) return fail_with("more targets than puppets");
      answer_.deliveries[answer_.deliveries_count++] = {each.pid, each.result.status,
                                                        each.result.id};
    }
  }

  void refuse(const Error& error) {
    answer_.error.set(error.text);
    switch (error.code) {
      case ErrorCode::kNoAgent:
        return result({SendStatus::kNoAgent, 0, 0});
      case ErrorCode::kPeerDead:
        return result({SendStatus::kPeerDead, 0, 0});
      case ErrorCode::kDenied:
        return result({SendStatus::kDenied, 0, 0});
      default:
        fail_with(error.text);
    }
  }

  Message& lease() {
    const auto found = std::find_if(leases_.begin(), leases_.end(),
                                    [&](const Message& each) { return each.id() == command_.id; });
    if (found != leases_.end()) return *found;
    std::fprintf(stderr, "puppet: no such lease\n");
    std::abort();
  }

  void finish() {
    Message& message = lease();
    switch (command_.verb) {
      case Verb::kRequeue:
        message.requeue();
        break;
      case Verb::kPutBack:
        message.put_back();
        break;
      case Verb::kReject:
        message.reject("no " + std::to_string(command_.number));
        break;
      case Verb::kDefer:
        return message.defer();
      case Verb::kEscalate:
        result(message.escalate());
        break;
      default:
        message.done("did " + std::to_string(command_.number));
    }
    forget_ended();
  }
  void forget_ended() {
    std::erase_if(leases_, [](const Message& each) { return !each.valid(); });
  }

  // Afterwards all sent messages are in the inbox, unless it is full.
  void look() {
    for (const InboxItem& from : agent_->inbox(kMostItems)) {
      PuppetItem& item = answer_.items[answer_.items_count++];
      item.id = from.id;
      item.reply_to = from.reply_to;
      item.from = from.from;
      item.rank = from.rank;
      item.attempts = from.attempts;
      item.sent_ns = from.sent_ns;
      item.stashed = from.stashed;
      item.leased = from.leased;
      item.dead = from.dead;
      item.type.set(from.type);
      item.preview.set(from.preview);
      item.reason.set(from.reason);
    }
    answer_.counters = agent_->counters();
    for (const LinkCounters& link : agent_->links()) {
      if (answer_.links_count < answer_.links.size()) answer_.links[answer_.links_count++] = link;
    }
  }

  void tell(const Message& message) {
    Taken& taken = answer_.taken[answer_.taken_count++];
    taken = Taken();
    taken.id = message.id();
    taken.from = message.from();
    taken.to = message.to();
    taken.reply_to = message.reply_to();
    taken.cause = message.cause();
    const std::string text(message.text());
    taken.number = number_in(text);
    taken.rank = message.rank();
    taken.attempts = message.attempts();
    taken.relation = message.relation();
    taken.redelivered = message.redelivered();
    taken.is_copy = message.is_copy();
    taken.is_control = message.is_control();
    taken.requires_ack = message.requires_ack();
  }

  void receive() {
    auto message = agent_->try_receive();
    if (!message) return;
    tell(*message);
    leases_.push_back(std::move(*message));
  }

  void drain_results() {
    for (Message& message : agent_->drain_pending_results()) {
      tell(message);
      message.done("did " + std::to_string(answer_.taken[answer_.taken_count - 1].number));
    }
  }

  void await_ack() {
    const auto to = agent_->peer(command_.to);
    // Messages of the dead count too.
    const Peer whose = to ? *to : Peer{.pid = command_.to};
    const auto ack = agent_->await_ack(whose, command_.id, after(1ms));
    if (!ack) return fail_with(ack.error().text);
    answer_.id = ack->id;
    answer_.ack = ack->status;
    answer_.text.set(ack->reply);
  }

  const PuppetCommand& command_;
  PuppetAnswer& answer_;
  std::optional<Agent> agent_;
  std::vector<Message> leases_;
};

BEELINE_ROLE(puppet) {
  PuppetStage& stage = context.board<PuppetBoard>().stages[context.number];
  Puppet puppet(stage.command, stage.answer);
  for (std::uint32_t next = stage.served + 1;; ++next) {
    while (!stage.asked.await(next, patience())) {
    }
    const bool stays = puppet.obey();
    stage.answered.raise();
    if (!stays) return;
  }
}

}  // namespace
}  // namespace beeline::test
