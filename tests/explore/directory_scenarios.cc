// The directory while readers look at it, and headers of segments that are still being made.

#include <optional>

#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint64_t kEpoch = 5;
constexpr std::uint32_t kNewPid = 9;

std::optional<shm::DirectoryWriter> writer;

[[nodiscard]] shm::DirectoryView directory() {
  return shm::DirectoryView(segment("directory", shm::DirectoryLayout::kBytes));
}

// A record with the same value in every byte.
[[nodiscard]] shm::AgentRecord record_of(unsigned char value) {
  shm::AgentRecord record;
  std::memset(&record, value, sizeof(record));
  return record;
}
void check_whole(const shm::AgentRecord& record) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&record);
  for (std::size_t i = 1; i < sizeof(record); ++i) {
    check(bytes[i] == bytes[0], "a record is torn");
  }
}

void fresh_writer() {
  writer.emplace(fresh_directory(), kEpoch, shm::kMinMaxPayload, 1);
  const shm::AgentRecord first = record_of(1);
  writer->publish(&first, 1);
  writer->set_agent_count(1);
  writer->set_word(0, {kLifeA, shm::AgentState::kRunning});
}

Scenario records() {
  Scenario scenario("records", "1 record, 2 rounds",
                    "a record that is read while its buffer is written anew is whole");
  scenario.set_up = [] { fresh_writer(); };
  scenario.threads = {
      {"coordinator",
       [] {
         for (unsigned char round = 2; round <= 3; ++round) {
           const shm::AgentRecord record = record_of(round);
           writer->publish(&record, 1);
         }
       }},
      {"reader",
       [] {
         shm::AgentRecord record;
         if (directory().read_record(0, record)) check_whole(record);
       }},
  };
  scenario.least = 16;
  return scenario;
}

// hive::attach: records, count, word. A sender that finds a new word in the place of its receiver
// reads in the record which agent has the place now (SendPath::place_was_given_away).
Scenario place() {
  Scenario scenario("place", "2 records, 1 round",
                    "who sees a new word or a new count sees the record that belongs to it");
  scenario.set_up = [] { fresh_writer(); };
  scenario.threads = {
      {"coordinator",
       [] {
         shm::AgentRecord records[2] = {record_of(1), record_of(2)};
         records[0].pid = kNewPid;
         writer->publish(records, 2);
         writer->set_agent_count(2);
         writer->set_word(0, {kLifeB, shm::AgentState::kRunning});
       }},
      {"sender",
       [] {
         shm::AgentRecord record;
         if (directory().agent(0).incarnation != kLifeB) return;
         if (!directory().read_record(0, record)) return;
         check(record.pid == kNewPid,
               "the place belongs to another agent, and its record does not");
       }},
      {"reader",
       [] {
         shm::AgentRecord record;
         if (directory().agent_count() != 2 || !directory().read_record(1, record)) return;
         check(record.pid == record_of(2).pid, "a record below the count is missing");
       }},
  };
  return scenario;
}

// Family::superiors: the agent caches its reading of the tree under the tree's epoch.
Scenario tree() {
  Scenario scenario("tree", "2 records, 2 rounds",
                    "who keeps the tree under an epoch has missed nothing that came before it");
  scenario.set_up = [] { fresh_writer(); };
  scenario.threads = {
      {"coordinator",
       [] {
         const shm::AgentRecord records[2] = {record_of(1), record_of(2)};
         writer->publish(records, 2);
         writer->set_agent_count(2);
         writer->publish(records, 2);
       }},
      {"agent",
       [] {
         const std::uint64_t epoch = directory().epoch();
         const std::uint32_t count = directory().agent_count();
         check(epoch < kEpoch + 3 || count == 2, "an agent of an earlier round is missing");
       }},
  };
  scenario.least = 2;
  return scenario;
}

// A tool opens a segment through the descriptor of its owner, at any time.
Scenario header(const char* name, std::function<void()> clear, std::function<void()> make,
                std::function<const shm::SegmentHeader&()> find) {
  Scenario scenario(name, "1 segment", "a segment that says ready is complete");
  scenario.set_up = [clear, find] {
    clear();
    auto* bytes = reinterpret_cast<std::byte*>(const_cast<shm::SegmentHeader*>(&find()));
    explorer().watch(0, bytes, offsetof(shm::SegmentHeader, reserved), true);
    explorer().watch(0, bytes + offsetof(shm::SegmentHeader, sections), 24 * 4, true);
  };
  scenario.threads = {
      {"owner", std::move(make)},
      {"tool",
       [find] {
         const shm::SegmentHeader& made = find();
         if (!is_ready(made)) return;
         explorer().read_plain(&made, offsetof(shm::SegmentHeader, ready));
         explorer().read_plain(made.sections, 24 * 4);
       }},
  };
  scenario.least = 2;
  return scenario;
}

}  // namespace

void add_directory_scenarios(Scenarios& all, Depth /*depth*/) {
  all.push_back(records());
  all.push_back(place());
  all.push_back(tree());
  all.push_back(header(
      "header-link", [] { (void)fresh_link("link A>B", contract_of(2)); },
      [] {
        const shm::Link link(segment("link A>B", 1), contract_of(2));
        shm::init_link(link, shm::link_identity(contract_of(2), kPidA, kPidB, kLinkA));
      },
      []() -> const shm::SegmentHeader& {
        return *reinterpret_cast<shm::SegmentHeader*>(segment("link A>B", 1));
      }));
  all.push_back(header(
      "header-status", [] { (void)fresh_status("status A"); },
      [] {
        shm::init_status(*reinterpret_cast<shm::StatusPage*>(segment("status A", 1)), kPidA,
                         kLifeA);
      },
      []() -> const shm::SegmentHeader& {
        return *reinterpret_cast<shm::SegmentHeader*>(segment("status A", 1));
      }));
  all.push_back(header(
      "header-directory", [] { (void)fresh_directory(); },
      [] {
        writer.emplace(segment("directory", shm::DirectoryLayout::kBytes), kEpoch,
                       shm::kMinMaxPayload, 1);
      },
      []() -> const shm::SegmentHeader& { return directory().header(); }));
  all.push_back(header(
      "header-history", [] { (void)fresh_history(); },
      [] { shm::init_history(segment("history", shm::HistoryLayout::kBytes), "a", kPidA, kLifeA); },
      []() -> const shm::SegmentHeader& {
        return *reinterpret_cast<shm::SegmentHeader*>(
            segment("history", shm::HistoryLayout::kBytes));
      }));
}

}  // namespace beeline::explore
