// Operations of a sender, swept instruction by instruction.

#include "tests/killpoints/scenario.h"

namespace beeline::killpoints {
namespace {

// In a slab of the second class. Longer payloads are copied byte by byte, and stepping takes long.
constexpr std::uint32_t kLarge = 1100;
constexpr char kAll[] = "empty one half wrapped mixed table-full handed-over fifo";
constexpr char kSome[] = "empty wrapped mixed handed-over";

Operation send(std::string name, const Plan& plan, const char* from) {
  return {std::move(name),
          Actor::kSender,
          [plan](Rig& rig) {
            if (plan.length > shm::kInlineBytes) rig.know_slabs(plan.length);
            rig.plan(plan);
          },
          [](Rig& rig) { rig.outcome = rig.post(*rig.planned.back()); },
          [](Rig& rig) {
            if (rig.outcome != SendStatus::kOk) throw RigError{"the operation did not send"};
            rig.note_sent(*rig.planned.back());
          },
          from};
}

// The lane is as full as it can be.
Operation send_full(std::string name, const Plan& plan, const char* from) {
  Operation operation = send(std::move(name), plan, from);
  operation.arrange = [plan](Rig& rig) {
    do {
      rig.outcome = rig.post(rig.plan(plan));
      rig.note_sent(*rig.planned.back());
    } while (rig.outcome == SendStatus::kOk);
    rig.plan(plan);
  };
  operation.after = [](Rig& rig) {
    if (rig.outcome != SendStatus::kFull && !rig.is_contended) {
      throw RigError{"the lane was not full"};
    }
    rig.note_sent(*rig.planned.back());
  };
  return operation;
}

// The lane looks full to the sender until it has read the receipt.
Operation send_behind_receipt(const char* from) {
  Operation operation = send("send-behind-receipt", {}, from);
  operation.arrange = [](Rig& rig) {
    rig.finish_all();
    for (int i = 0; i < 8; ++i) rig.send({.length = 8});
    rig.finish_all();
    rig.plan({});
  };
  return operation;
}

// All slabs of the class were used: the sender collects stamps, and writes into one of them again.
Operation send_used_slab(const char* from) {
  Operation operation = send("send-used-slab", {.length = kLarge}, from);
  operation.arrange = [](Rig& rig) {
    for (int i = 0; i < 8; ++i) rig.send_and_finish({.length = kLarge});
    rig.plan({.length = kLarge});
  };
  return operation;
}

// The table of types is full: the message carries its own type, in a slab.
Operation send_carrying(const char* from) {
  Operation operation = send("send-carrying", {.length = 5, .type = "one too many"}, from);
  operation.arrange = [arrange = operation.arrange](Rig& rig) {
    for (std::uint32_t i = 0; i < shm::kMaxStrings; ++i) {
      if (!rig.sender().out->intern(std::to_string(i))) throw RigError{"no type can be interned"};
    }
    arrange(rig);
  };
  return operation;
}

// A slab that holds the payload of the message that was planned last.
shm::SlabPool::Loan take_filled_slab(Rig& rig) {
  send::OutLink& link = *rig.sender().out;
  const auto loan = link.take_slab(600);
  std::memcpy(link.slab_bytes(*loan), rig.planned.back()->payload.data(), 600);
  return *loan;
}

Operation loan_and_send(const char* from) {
  return {"loan-send",
          Actor::kSender,
          [](Rig& rig) { rig.plan({.length = 600}); },
          [](Rig& rig) {
            rig.loan = take_filled_slab(rig);
            rig.outcome = rig.post_loan(*rig.planned.back());
          },
          [](Rig& rig) { rig.note_sent(*rig.planned.back()); },
          from};
}

Operation loan_and_drop(const char* from) {
  return {"loan-drop",
          Actor::kSender,
          [](Rig& rig) { rig.plan({.length = 600}); },
          [](Rig& rig) { rig.sender().out->slabs.put_back(take_filled_slab(rig)); },
          [](Rig& /*rig*/) {},
          from};
}

Operation want_space(const char* from) {
  return {"want-space",
          Actor::kSender,
          [](Rig& /*rig*/) {},
          [](Rig& rig) {
            send::SendPath::want_space(*rig.sender().out, send::SpaceFor::kWait, true);
            send::SendPath::want_space(*rig.sender().out, send::SpaceFor::kWait, false);
          },
          [](Rig& /*rig*/) {},
          from};
}

Operation send_three(const char* from) {
  return {"send-three",
          Actor::kSender,
          [](Rig& rig) {
            rig.plan({.length = 9});
            rig.plan({.length = 200});
            rig.plan({.length = 64, .rank = shm::kRankCritical});
          },
          [](Rig& rig) {
            const std::size_t first = rig.planned.size() - 3;
            for (std::size_t i = first; i < rig.planned.size(); ++i) {
              rig.outcome = rig.post(*rig.planned[i]);
            }
          },
          [](Rig& rig) {
            const std::size_t first = rig.planned.size() - 3;
            for (std::size_t i = first; i < rig.planned.size(); ++i) {
              rig.note_sent(*rig.planned[i]);
            }
          },
          from};
}

}  // namespace

std::vector<Operation> sender_operations() {
  const auto critical = shm::kRankCritical;
  return {
      send("send-inline", {}, kAll),
      send("send-empty", {.length = 0}, kSome),
      send("send-odd", {.length = 13}, kSome),
      send("send-64", {.length = 64}, kSome),
      send("send-slab", {.length = 300}, kAll),
      send("send-slab-whole", {.length = 1024}, kSome),
      send("send-slab-large", {.length = kLarge}, kSome),
      send("send-urgent", {.rank = critical}, kAll),
      send("send-urgent-slab", {.length = 100, .rank = critical}, kSome),
      send("send-extended", {.length = 10, .extended = true}, kSome),
      send("send-extended-slab", {.length = 200, .extended = true}, kSome),
      send("send-typed", {.type = "note"}, kSome),
      send("send-new-type", {.type = "something else"}, kSome),
      send("send-with-ttl", {.ttl_ms = 60'000}, kSome),
      send_full("send-full", {}, "empty half full wrapped mixed table-full handed-over"),
      send_full("send-urgent-full", {.rank = critical}, "empty full wrapped handed-over"),
      send_behind_receipt("empty half full wrapped"),
      send_used_slab("empty mixed"),
      send_carrying(kSome),
      loan_and_send(kSome),
      loan_and_drop(kSome),
      want_space("empty full"),
      send_three(kSome),
  };
}

}  // namespace beeline::killpoints
