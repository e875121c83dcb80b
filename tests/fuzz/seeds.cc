// The seeds of the targets: packets of every kind and a session of two agents, the first pages of
// real segments, and single lies in sound ones.

#include <bit>
#include <initializer_list>
#include <utility>

#include "shm/task_form.h"
#include "shm/verify_history.h"
#include "src/agent/task_codec.h"
#include "src/control/wire.h"
#include "tests/fuzz/target.h"
#include "tests/unit/verify_samples.h"

namespace beeline::fuzz {
namespace {

using Seeds = std::map<std::string, Input>;

// Bytes in the order in which a Feed hands them out.
class Tape {
 public:
  template <typename T>
  Tape& put(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    input_.insert(input_.end(), bytes, bytes + sizeof(T));
    return *this;
  }
  Tape& bytes(std::initializer_list<std::uint8_t> values) {
    input_.insert(input_.end(), values);
    return *this;
  }
  // In the form that scribble() reads.
  template <typename T>
  Tape& write(std::uint64_t offset, T value) {
    static_assert(std::has_single_bit(sizeof(T)));
    put(static_cast<std::uint32_t>(offset));
    put(static_cast<std::uint8_t>(std::countr_zero(sizeof(T))));
    return put(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] const Input& input() const { return input_; }

 private:
  Input input_;
};

Input input_of(const std::string& text) { return {text.begin(), text.end()}; }

// The first pages of a segment behind a byte that says so, without the zeros at the end.
Input first_pages(test::Sample sample) {
  const auto bytes = sample.bytes();
  std::size_t length = std::min<std::size_t>(bytes.size(), kMaxInput - 1);
  while (bytes[length - 1] == std::byte{0}) --length;
  Input input{0xff};
  for (const std::byte each : bytes.first(length)) {
    input.push_back(std::to_integer<std::uint8_t>(each));
  }
  return input;
}

// ---- Control ------------------------------------------------------------------------------------

// One packet for each alternative, with its default values.
template <typename Variant, std::size_t... kIndex>
void add_packets(Seeds& seeds, const char* kind, std::index_sequence<kIndex...> /*all*/) {
  const auto add = [&](const Variant& value) {
    std::string text;
    if constexpr (std::is_same_v<Variant, control::AnnouncedValue>) {
      text = control::build(value);
    } else {
      text = control::build(value, 7);
    }
    seeds["packet_" + std::string(kind) + "_" + std::to_string(value.index())] = input_of(text);
  };
  (add(Variant(std::in_place_index<kIndex>)), ...);
}
template <typename Variant>
void add_packets(Seeds& seeds, const char* kind) {
  add_packets<Variant>(seeds, kind, std::make_index_sequence<std::variant_size_v<Variant>>());
}

// Steps as the target reads them: client, kind of step, descriptors, request, its fields, its
// number.
class Session {
 public:
  Session& attach(std::uint32_t who, std::uint8_t name) {
    constexpr std::uint8_t kKing = 2;
    return step(who, {0}, 0, {name, kKing, 0, 1});
  }
  // A sound home and status page, ready.
  Session& provide(std::uint32_t who) { return step(who, {1, 1, 1}, 1, {0}); }
  Session& open(std::uint32_t who, std::uint8_t to, std::uint8_t serial) {
    return step(who, {2, serial, to, 1}, 3, {to, serial, 1, 1});
  }
  // A step without descriptors, as the last one: its first two field bytes are 1, with which step()
  // ends; the rest is zero.
  Session& ask(std::uint32_t who, std::uint32_t request) { return step(who, {0}, request, {}); }
  [[nodiscard]] const Input& input() const { return script_.input(); }

 private:
  Session& step(std::uint32_t who, std::initializer_list<std::uint8_t> descriptors,
                std::uint32_t request, std::initializer_list<std::uint8_t> fields) {
    constexpr std::uint8_t kWhole = 2;  // neither random bytes nor a damaged request
    script_.put(who).put(kWhole).bytes(descriptors).put(request).bytes(fields);
    script_.put(std::uint8_t{1});
    return *this;
  }
  Tape script_;
};

Seeds control_seeds() {
  Seeds seeds;
  add_packets<control::Request>(seeds, "request");
  add_packets<control::Answer>(seeds, "answer");
  add_packets<control::AnnouncedValue>(seeds, "announcement");
  control::ListAnswer list;
  list.agents.resize(2);
  seeds["packet_list_of_two"] = input_of(control::build(control::Answer(list), 8));
  control::LinkAnnouncement link;
  link.mine.emplace();
  seeds["packet_link_with_mine"] = input_of(control::build(control::AnnouncedValue(link)));
  seeds["packet_nested_too_deep"] = input_of(R"({"op":"list","seq":1,"from":[[[[[[[[[0]]]]]]]]]})");
  seeds["packet_with_a_quote_in_a_string"] =
      input_of(R"({"op":"escalate","seq":1,"text":"\"{[\\"})");

  constexpr std::uint8_t kInnocent = 2;  // the first pid after the king
  seeds["session_attach_provide_open"] =
      Session().attach(0, 0).provide(0).open(0, kInnocent, 1).input();
  seeds["session_of_two"] =
      Session().attach(0, 0).attach(1, 1).provide(0).provide(1).open(0, 4, 1).open(1, 3, 1).input();
  // One request of each kind, with hardly a field set.
  for (std::uint32_t request = 4; request < std::variant_size_v<control::Request>; ++request) {
    seeds["session_then_request_" + std::to_string(request)] =
        Session().attach(0, 0).provide(0).ask(0, request).input();
  }
  seeds["session_attached_twice"] = Session().attach(0, 0).attach(0, 0).attach(1, 0).input();
  return seeds;
}

// ---- Directory ----------------------------------------------------------------------------------

Seeds directory_seeds() {
  using shm::AgentRecord;
  using shm::DirectoryControl;
  using Layout = shm::DirectoryLayout;
  constexpr std::uint8_t kAnywhere = 0;  // the offsets of the writes may point anywhere
  constexpr std::uint64_t kCurrent = Layout::kControl + offsetof(DirectoryControl, current);
  constexpr std::uint64_t kCount = Layout::kControl + offsetof(DirectoryControl, agent_count);
  const auto record = [](std::uint64_t index, std::size_t field) {
    return Layout::kRecords0 + index * sizeof(AgentRecord) + field;
  };
  const auto lie = [&] { return Tape().put(kAnywhere); };
  constexpr std::size_t kParent = offsetof(AgentRecord, parent_pid);
  constexpr std::size_t kPid = offsetof(AgentRecord, pid);
  constexpr std::size_t kName = offsetof(AgentRecord, name);
  Seeds seeds;
  seeds["sound"] = lie().input();
  seeds["other_buffer"] = lie().write(kCurrent, std::uint64_t{71 << 1 | 1}).input();
  seeds["count_beyond_all"] = lie().write(kCount, ~std::uint64_t{0}).input();
  seeds["count_zero"] = lie().write(kCount, std::uint64_t{0}).input();
  seeds["own_parent"] = lie().write(record(2, kParent), std::uint32_t{9}).input();
  seeds["circle_of_parents"] = lie()
                                   .write(record(1, kParent), std::uint32_t{11})
                                   .write(record(2, kParent), std::uint32_t{7})
                                   .input();
  seeds["parent_that_is_nobody"] = lie().write(record(3, kParent), std::uint32_t{77}).input();
  seeds["one_pid_twice"] = lie().write(record(3, kPid), std::uint32_t{9}).input();
  seeds["pid_zero"] = lie().write(record(1, kPid), std::uint32_t{0}).input();
  seeds["state_that_is_none"] = lie().write(Layout::kWords + 8, std::uint8_t{0xff}).input();
  Tape name = lie();
  for (std::size_t at = 0; at < shm::kNameBytes; at += 8) {
    name.write(record(3, kName) + at, std::uint64_t{0x7878787878787878});
  }
  seeds["name_without_end"] = name.input();
  seeds["name_with_a_slash_and_bytes_that_are_no_text"] =
      lie().write(record(3, kName), std::uint64_t{0xff2fc0}).input();
  return seeds;
}

// ---- History -----------------------------------------------------------------------------------

// Single lies about rows that the sample has.
void add_history_lies(Seeds& seeds, const std::string& prefix, const Tape& start) {
  using shm::HistoryRow;
  constexpr auto kRing = shm::HistoryRing::kSend;
  const auto lie = [&](const char* name, std::uint64_t offset, auto value) {
    seeds[prefix + name] = Tape(start).write(offset, value).input();
  };
  const auto row = [](std::uint64_t position, std::size_t field) {
    return shm::HistoryLayout::row_of(kRing, position) + field;
  };
  lie("head_beyond_all", shm::ring_head_at(kRing), ~std::uint64_t{0});
  lie("head_that_fell", shm::ring_head_at(kRing), std::uint64_t{1});
  lie("row_of_another_place", row(9, offsetof(HistoryRow, place)), std::uint64_t{1});
  lie("row_from_the_future", row(9, offsetof(HistoryRow, place)), ~std::uint64_t{0});
  lie("row_with_an_event_that_is_none", row(9, offsetof(HistoryRow, event)), std::uint8_t{0xff});
  lie("row_with_a_type_beyond_it", row(9, offsetof(HistoryRow, type_length)), std::uint8_t{0xff});
  lie("row_with_a_long_preview", row(9, offsetof(HistoryRow, preview_length)),
      std::uint16_t{0xffff});
}

Seeds history_seeds() {
  constexpr std::uint8_t kAnywhere = 1;  // all writes go into the whole segment
  Seeds seeds{{"sound", Tape().put(kAnywhere).input()}};
  add_history_lies(seeds, "", Tape().put(kAnywhere));
  return seeds;
}

// ---- Old home -----------------------------------------------------------------------------------

Seeds old_home_seeds() {
  constexpr std::uint8_t kRowsAndEntries = 1;
  constexpr auto kNoState =
      static_cast<std::uint8_t>(static_cast<unsigned>(shm::EntryState::kDead) + 1);
  Tape states;
  states.put(kRowsAndEntries);
  // Writes into rows come first; these change nothing.
  for (int i = 0; i < 8; ++i) {
    states.write(sizeof(shm::InRow) + offsetof(shm::InRow, reserved), std::uint8_t{0});
  }
  for (std::uint64_t i = 0; i < test::kSmallInbox; ++i) {
    states.write(i * sizeof(shm::Entry), kNoState);
  }
  return {{"sound", Tape().put(std::uint8_t{2}).input()},
          {"entries_in_a_state_that_is_none", states.input()}};
}

// ---- Take-over ----------------------------------------------------------------------------------

// Single lies in the leftovers of the target's agents. Its writes go in this order, each place with
// as many as it takes (takeover_target.cc); all others write zero into a reserved word.
Seeds takeover_seeds() {
  constexpr std::uint8_t kHome = 1;
  constexpr std::uint8_t kLanes = 2;
  constexpr std::uint8_t kReceipts = 4;
  constexpr std::uint64_t kNowhere = offsetof(shm::HomeControl, reserved2);
  constexpr std::uint64_t kInNoRow = sizeof(shm::InRow) + offsetof(shm::InRow, reserved);
  const auto lie = [](std::uint8_t where) { return Tape().put(where); };
  const auto entries = [&] {
    Tape tape = lie(kHome);
    for (int i = 0; i < 2; ++i) tape.write(kNowhere, std::uint8_t{0});
    for (int i = 0; i < 4; ++i) tape.write(kInNoRow, std::uint8_t{0});
    return tape;
  };
  const auto in_all_entries = [&](std::size_t field, auto value) {
    Tape tape = entries();
    for (std::uint64_t i = 0; i < 8; ++i) tape.write(i * sizeof(shm::Entry) + field, value);
    return tape.input();
  };
  const auto header = [](std::size_t field) { return offsetof(shm::Entry, header) + field; };
  // A field of a slot in the normal lane.
  const auto slot = [](std::uint64_t position, std::size_t field) {
    return position * sizeof(shm::Slot) + offsetof(shm::Slot, header) + field;
  };
  constexpr std::size_t kId = offsetof(shm::MessageHeader, id);
  constexpr std::size_t kLength = offsetof(shm::MessageHeader, length);
  constexpr std::size_t kFlags = offsetof(shm::MessageHeader, flags);
  constexpr std::size_t kSlab = offsetof(shm::MessageHeader, slab);
  Seeds seeds;
  seeds["sound"] = lie(0).input();
  seeds["home_capacity_that_is_none"] =
      lie(kHome).write(offsetof(shm::HomeControl, capacity), std::uint32_t{17}).input();
  seeds["home_rows_and_entries_beyond_all"] =
      lie(kHome).write(offsetof(shm::HomeControl, rows_allocated), ~std::uint64_t{0}).input();
  seeds["home_cursor_beyond_all"] = lie(kHome)
                                        .write(kNowhere, std::uint8_t{0})
                                        .write(kNowhere, std::uint8_t{0})
                                        .write(offsetof(shm::InRow, cursors), ~std::uint64_t{0})
                                        .input();
  seeds["entries_in_a_state_that_is_none"] = in_all_entries(0, std::uint8_t{4});
  seeds["entries_with_a_foreign_id"] = in_all_entries(header(kId) + 4, std::uint32_t{0x77777700});
  seeds["entries_longer_than_their_room"] = in_all_entries(header(kLength), std::uint32_t{65});
  seeds["entries_in_a_slab_that_is_none"] = in_all_entries(header(kSlab), ~std::uint32_t{0} - 1);
  seeds["entries_with_a_reason_that_is_none"] =
      in_all_entries(header(kFlags), std::uint16_t{0xf000});
  constexpr std::uint64_t kUntaken = 3;
  seeds["slot_with_a_foreign_id"] =
      lie(kLanes).write(slot(kUntaken, kId) + 4, std::uint32_t{0x77777700}).input();
  seeds["slot_longer_than_its_room"] = lie(kLanes)
                                           .write(slot(kUntaken, kFlags), std::uint16_t{0})
                                           .write(slot(kUntaken, kSlab), shm::kNoSlab.value())
                                           .input();
  seeds["slot_in_a_slab_that_is_none"] =
      lie(kLanes).write(slot(kUntaken, kSlab), ~std::uint32_t{0} - 1).input();
  Tape stamps = lie(kReceipts);
  for (int i = 0; i < 4; ++i) {
    stamps.write(offsetof(shm::ReceiptBank, stamps_ready), std::uint8_t{1});
  }
  seeds["stamps_above_all"] =
      stamps.write(0, ~std::uint64_t{0}).write(8, ~std::uint64_t{0}).input();
  return seeds;
}

// ---- Tasks --------------------------------------------------------------------------------------

Seeds task_seeds() {
  const auto input = [](std::string_view form) { return Input(form.begin(), form.end()); };
  const auto with = [&](std::string form, std::size_t at, std::uint32_t lie) {
    std::memcpy(form.data() + at, &lie, sizeof(lie));
    return input(form);
  };
  constexpr std::size_t kPairs = offsetof(shm::TaskHead, pairs);
  const std::string task(encode(Task{.id = "1", .params = {{"a", "b"}, {"c", ""}}}).text());
  const std::string result(encode(TaskResult{.output = "out", .metadata = {{"a", "b"}}}).text());
  return {{"task", input(task)},
          {"result", input(result)},
          {"failure", input(encode_failure("why").text())},
          {"task_of_more_pairs_than_bytes", with(task, kPairs, 0x7fffffff)},
          {"task_with_a_text_beyond_the_end", with(task, sizeof(shm::TaskHead), 0xffffffff)},
          {"result_of_pairs_that_overflow", with(result, kPairs + 4, 0xffffffff)}};
}

// ---- Segments -----------------------------------------------------------------------------------

Seeds segment_seeds() {
  return {{"pages_of_a_link", first_pages(test::sample_link())},
          {"pages_of_a_home", first_pages(test::sample_home())},
          {"pages_of_a_status", first_pages(test::sample_status())},
          {"pages_of_a_directory", first_pages(test::sample_directory())},
          {"pages_of_a_history", first_pages(test::sample_history())}};
}

// In the order in which the targets know the samples: link, home, status, directory, history.
Seeds damaged_segment_seeds() {
  const shm::LinkLayout link(test::kSmallContract);
  const shm::HomeLayout home(test::kSmallInbox);
  const auto in = [](std::uint8_t sample) { return Tape().put(sample); };
  const auto in_slot = [&](std::size_t field) {
    return link.normal + offsetof(shm::Slot, header) + field;
  };
  constexpr std::uint64_t kSection0 = offsetof(shm::SegmentHeader, sections);
  Seeds seeds;
  seeds["link_slot_longer_than_its_room"] =
      in(0).write(in_slot(offsetof(shm::MessageHeader, length)), std::uint32_t{65}).input();
  seeds["link_slot_in_a_slab_that_is_none"] =
      in(0).write(in_slot(offsetof(shm::MessageHeader, flags)), shm::kFlagSlab).input();
  seeds["link_commit_ahead"] = in(0).write(link.normal, std::uint64_t{1'000'000}).input();
  seeds["link_string_longer_than_its_field"] =
      in(0).write(link.strings + shm::kStringBytes, std::uint8_t{0xff}).input();
  seeds["link_more_slabs_than_there_are"] =
      in(0)
          .write(link.control + offsetof(shm::LinkControl, slabs_allocated), ~std::uint32_t{0})
          .input();
  seeds["home_entry_in_a_row_that_is_none"] =
      in(1).write(home.entries, std::uint64_t{0xffff} << 16 | 1).input();
  seeds["home_more_entries_than_there_are"] =
      in(1)
          .write(home.control + offsetof(shm::HomeControl, entries_allocated), ~std::uint32_t{0})
          .input();
  seeds["home_index_that_runs_backwards"] =
      in(1).write(home.control + offsetof(shm::HomeControl, index), ~std::uint64_t{0}).input();
  seeds["status_sleep_that_is_none"] =
      in(2).write(offsetof(shm::StatusPage, sleep), ~std::uint32_t{0}).input();
  seeds["directory_count_beyond_all"] =
      in(3)
          .write(shm::DirectoryLayout::kControl + offsetof(shm::DirectoryControl, agent_count),
                 ~std::uint64_t{0})
          .input();
  add_history_lies(seeds, "history_", in(4));
  seeds["header_section_beyond_the_end"] =
      in(0).write(kSection0 + offsetof(shm::Section, offset), ~std::uint64_t{0}).input();
  seeds["header_section_count_that_overflows"] =
      in(0).write(kSection0 + offsetof(shm::Section, count), ~std::uint64_t{0} / 2).input();
  return seeds;
}

}  // namespace

Seeds seeds_of(std::string_view target) {
  if (target == "control") return control_seeds();
  if (target == "directory") return directory_seeds();
  if (target == "history") return history_seeds();
  if (target == "old_home") return old_home_seeds();
  if (target == "takeover") return takeover_seeds();
  if (target == "task") return task_seeds();
  if (target == "verify") return damaged_segment_seeds();
  if (target != "dump") return {};
  Seeds seeds = segment_seeds();
  seeds.merge(damaged_segment_seeds());
  return seeds;
}

}  // namespace beeline::fuzz
