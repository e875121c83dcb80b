// The receiving side of tasks: who may give them, how many wait, their order, and words about them.

#include "tests/unit/heir.h"

namespace beeline::receive {
namespace {

using shm::EntryState;
using shm::MessageKind;
using test::Heir;
using test::Peer;

class TaskQueueTest : public test::ReceiverTest {
 protected:
  TaskQueueTest() {
    start({}, 64);
    parent_ = &join(100);
    parent_->link->set_relation(Relation::kParent, true);
    tasks().accept(true);
  }
  [[nodiscard]] TaskQueue& tasks() { return receiver_->kept().tasks(); }
  static std::uint64_t say(Peer& peer, MessageKind kind, shm::MessageHeader header) {
    header.flags |= shm::kFlagExtended;
    shm::Extension extension{};
    extension.kind = static_cast<std::uint8_t>(kind);
    char area[shm::kInlineBytes] = {};
    std::memcpy(area, &extension, sizeof(extension));
    return peer.publish(header, shm::Lane::kNormal, area);
  }
  // Puts a task into the lane.
  static std::uint64_t send_task(Peer& peer, std::int32_t rank = shm::kRankNormal) {
    shm::MessageHeader header = peer.sound();
    header.flags = shm::kFlagRequiresAck;
    header.ttl_ms = 60'000;
    header.rank = rank;
    return say(peer, MessageKind::kTask, header);
  }
  std::uint64_t give(Peer& peer, std::int32_t rank = shm::kRankNormal) {
    const std::uint64_t id = send_task(peer, rank);
    receiver_->drain_all();
    return id;
  }
  // A task of ours for agent 200 waits for its result.
  void expect_result(PendingReply& task) {
    task.request_id = shm::make_message_id(test::kReaderPid, 5);
    task.from = 200;
    task.is_task = true;
    receiver_->answers().expect(task);
  }
  std::uint64_t report(Peer& peer, std::uint64_t about) {
    shm::MessageHeader header = peer.sound();
    header.ttl_ms = 60'000;
    header.reply_to = about;
    const std::uint64_t id = say(peer, MessageKind::kTaskLog, header);
    receiver_->drain_all();
    return id;
  }
  std::uint64_t take_task() {
    const shm::EntryIndex at = receiver_->take_task();
    if (at == shm::kNoEntry) return 0;
    const std::uint64_t id = receiver_->entry(at).header.id;
    receiver_->done(at);
    return id;
  }
  // The id and the reason of the only message of which the sender is to be told.
  std::string refusal_of(std::uint64_t id) {
    const auto refused = receiver_->kept().take_refused();
    if (refused.size() != 1 || refused[0].id != id) return "none";
    EXPECT_TRUE(refused[0].is_question);
    return std::string(refused[0].why);
  }
  // Everything that was taken out of lanes is somewhere.
  void expect_balance() {
    const shm::Inbox& inbox = receiver_->home().inbox();
    EXPECT_EQ(shm::drained_total(receiver_->home().home()),
              inbox.queued() + inbox.leased() + inbox.dead() + counters().done.relaxed_load() +
                  counters().purged.relaxed_load());
  }
  Peer* parent_ = nullptr;
};

TEST_F(TaskQueueTest, ATaskIsTakenByItselfAndNotAsAMessage) {
  const std::uint64_t first = give(*parent_);
  const std::uint64_t message = parent_->say();
  const std::uint64_t second = give(*parent_);
  EXPECT_EQ(tasks().size(), 2U);
  EXPECT_EQ(finish_one(), message);
  EXPECT_EQ(finish_one(), 0U);
  EXPECT_EQ(take_task(), first);
  EXPECT_EQ(take_task(), second);
  EXPECT_EQ(take_task(), 0U);
  expect_balance();
}

TEST_F(TaskQueueTest, TasksGoByRankThenByArrival) {
  const std::uint64_t low = give(*parent_, shm::kRankLow);
  const std::uint64_t first = give(*parent_);
  const std::uint64_t second = give(*parent_);
  const std::uint64_t high = give(*parent_, 1);
  for (const std::uint64_t id : {high, first, second, low}) EXPECT_EQ(take_task(), id);
}

TEST_F(TaskQueueTest, OnlyTheParentAndTheCoordinatorGiveTasks) {
  for (const Relation relation : {Relation::kChild, Relation::kSibling, Relation::kOther}) {
    Peer& other = join(200 + static_cast<std::uint32_t>(relation));
    other.link->set_relation(relation, relation == Relation::kOther);  // an ancestor may not either
    const std::uint64_t id = give(other);
    EXPECT_EQ(refusal_of(id), "can only execute_on own children");
  }
  EXPECT_TRUE(tasks().empty());
  EXPECT_EQ(receiver_->home().inbox().dead(), 0U) << "a refused task is no letter";
  Peer& king = join(1);
  king.link->set_relation(Relation::kSystem, true);
  const std::uint64_t of_king = give(king);
  EXPECT_EQ(take_task(), of_king);
  EXPECT_FALSE(receiver_->home().inbox().queued());
  expect_balance();
}

TEST_F(TaskQueueTest, AnAgentThatDoesNoTasksRefusesThem) {
  tasks().accept(false);
  EXPECT_EQ(refusal_of(give(*parent_)), "the agent has no task handler");
  tasks().accept(true);
  const std::uint64_t wanted = give(*parent_);
  EXPECT_EQ(take_task(), wanted);
}

TEST_F(TaskQueueTest, AQuarterOfTheTableWaitsAtMost) {
  for (int i = 0; i < 16; ++i) give(*parent_);
  EXPECT_EQ(refusal_of(give(*parent_)), "too many tasks wait already");
  EXPECT_EQ(tasks().size(), 16U);
  EXPECT_NE(take_task(), 0U);
  give(*parent_);
  EXPECT_TRUE(receiver_->kept().take_refused().empty());
  expect_balance();
}

TEST_F(TaskQueueTest, TheFirstTasksStayWhereTooManyComeAtOnce) {
  const std::uint64_t first = send_task(*parent_);
  for (int i = 0; i < 18; ++i) send_task(*parent_);
  const std::uint64_t last = send_task(*parent_);
  receiver_->drain_all();
  EXPECT_EQ(tasks().size(), 16U);
  const auto refused = receiver_->kept().take_refused();
  ASSERT_EQ(refused.size(), 4U);
  EXPECT_EQ(refused[0].id, last);
  EXPECT_EQ(take_task(), first);
  expect_balance();
}

TEST_F(TaskQueueTest, AFullInboxTakesATaskIntoItsReserve) {
  Peer& other = join(200);
  for (int i = 0; i < 60; ++i) other.say(), receiver_->drain_all();
  EXPECT_FALSE(receiver_->home().inbox().has_room(shm::Room::kNormal));
  const std::uint64_t id = give(*parent_);
  EXPECT_EQ(take_task(), id);
}

// A mark without a time to live is none: the quick way of a message does not look at it.
TEST_F(TaskQueueTest, AMarkCountsInAMessageWithATimeToLiveAlone) {
  const std::uint64_t id = say(*parent_, MessageKind::kTask, parent_->sound());
  receiver_->drain_all();
  EXPECT_TRUE(tasks().empty());
  EXPECT_EQ(finish_one(), id);
  shm::MessageHeader header = parent_->sound();
  header.ttl_ms = 60'000;
  const std::uint64_t unknown = say(*parent_, static_cast<MessageKind>(77), header);
  receiver_->drain_all();
  EXPECT_EQ(finish_one(), unknown);
}

TEST_F(TaskQueueTest, AnOrderCancelsATaskThatWaitsOrComes) {
  const std::uint16_t cancel = parent_->intern(kCancelOrder);
  const std::uint64_t waits = give(*parent_);
  parent_->order(cancel, waits);
  receiver_->drain_all();
  EXPECT_TRUE(tasks().empty());
  EXPECT_EQ(refusal_of(waits), "cancelled");
  parent_->order(cancel, shm::make_message_id(100, parent_->counter + 2));
  const std::uint64_t comes = give(*parent_);
  EXPECT_EQ(refusal_of(comes), "cancelled");
  EXPECT_EQ(take_task(), 0U);
  const std::uint64_t runs = give(*parent_);
  const shm::EntryIndex at = receiver_->take_task();
  parent_->order(cancel, runs);
  receiver_->drain_all();
  EXPECT_TRUE(receiver_->is_cancelled(at));
  expect_balance();
}

TEST_F(TaskQueueTest, WordsAboutATaskWaitForItsCallAlone) {
  Peer& child = join(200);
  PendingReply task;
  expect_result(task);
  report(child, task.request_id + 1);  // of no task of ours
  report(*parent_, task.request_id);   // of somebody else
  EXPECT_EQ(task.reports, 0U);
  EXPECT_EQ(receiver_->home().inbox().queued(), 0U);
  const std::uint64_t first = report(child, task.request_id);
  const std::uint64_t second = report(child, task.request_id);
  EXPECT_EQ(task.reports, 2U);
  EXPECT_EQ(receiver_->take_stashed_answer(), shm::kNoEntry) << "a report is no answer";
  const shm::EntryIndex at = receiver_->take_report(task);
  EXPECT_EQ(receiver_->entry(at).header.id, first);
  receiver_->done(at);
  EXPECT_NE(second, first);
  receiver_->forget(task);  // the other one goes with it
  EXPECT_EQ(receiver_->home().inbox().queued(), 0U);
  report(child, task.request_id);
  EXPECT_EQ(receiver_->home().inbox().queued(), 0U) << "it came after the result";
  expect_balance();
}

TEST_F(TaskQueueTest, ManyWordsThatNobodyFetchesAreBounded) {
  Peer& child = join(200);
  PendingReply task;
  expect_result(task);
  for (int i = 0; i < 200; ++i) report(child, task.request_id);
  EXPECT_LE(receiver_->home().inbox().queued(), 16U);
  EXPECT_EQ(receiver_->home().inbox().dead(), 0U);
  std::size_t told = 0;
  for (;; ++told) {
    const shm::EntryIndex at = receiver_->take_report(task);
    if (at == shm::kNoEntry) break;
    receiver_->done(at);
  }
  EXPECT_EQ(told, 16U);
  EXPECT_EQ(task.reports, 0U);
  receiver_->forget(task);
  expect_balance();
}

// Nobody does a task again.
TEST_F(TaskQueueTest, ASuccessorBuriesTheTasksOfItsPredecessor) {
  const std::uint64_t runs = give(*parent_);
  const std::uint64_t waits = give(*parent_);
  const std::uint64_t message = parent_->say();
  receiver_->drain_all();
  ASSERT_NE(receiver_->take_task(), shm::kNoEntry);
  Heir heir(*receiver_, parent_->back, *parent_, test::kReaderLife + 1);
  ASSERT_TRUE(heir.done);
  EXPECT_EQ(heir.lease_all(), std::vector<std::uint64_t>{message});
  EXPECT_TRUE(heir.receiver.kept().tasks().empty());
  const auto refused = heir.receiver.kept().take_refused();
  ASSERT_EQ(refused.size(), 2U);
  for (const Refused& each : refused) {
    EXPECT_TRUE(each.id == runs || each.id == waits);
    EXPECT_EQ(each.why, "cancelled");
    const shm::EntryIndex at = heir.receiver.entries().find_dead(each.id);
    ASSERT_NE(at, shm::kNoEntry);
    EXPECT_TRUE(heir.receiver.entry(at).is_task());
  }
}

}  // namespace
}  // namespace beeline::receive
