// shm-dump reads bytes that it does not trust: texts, names of memfds, files, and segments with
// random words.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "src/look/escape.h"
#include "src/look/segment_name.h"
#include "src/os/memfd.h"
#include "tests/unit/verify_samples.h"
#include "tools/shm_dump/dump.h"
#include "tools/shm_dump/explain.h"
#include "tools/shm_dump/text.h"

namespace beeline::dump {
namespace {

using test::Sample;

// ---- Texts --------------------------------------------------------------------------------------

TEST(Escape, PrintableTextStays) {
  for (const std::string text : {"plain", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xf0\x9f\x90\x9d",
                                 "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80"}) {
    EXPECT_EQ(escape(text), text);
  }
  EXPECT_EQ(escape("a\\b\n\r\t\x7f"), "a\\\\b\\n\\r\\t\\x7f");
}

// Control characters, marks that change the direction of a line, and invisible ones.
TEST(Escape, TextThatIsNoPrintableUtf8IsShownAsBytes) {
  for (const std::string text :
       {"\x80", "\xc1\xbf", "\xf5\x80\x80\x80",              // no first byte
        "\xc3", "\xe2\x82", "\xf0\x9f\x90", "\xe2\x41\x80",  // cut, or broken
                                                             // off
        "\xe0\x80\x80", "\xf0\x80\x80\x80",                  // longer than it must be
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80",  // surrogates, beyond all
        "\xc2\x9b", "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6",
        "\xe2\x81\xa9", "\xef\xbb\xbf"}) {
    const std::string shown = escape(text);
    EXPECT_EQ(shown.substr(0, 2), "\\x") << shown;
    for (const char each : shown) EXPECT_TRUE(each >= 0x20 && each < 0x7f) << shown;
  }
  for (const std::string text : {"\xe2\x80\x90", "\xe2\x80\xaf", "\xe2\x81\xaa", "\xe2\x81\xa5"}) {
    EXPECT_EQ(escape(text), text) << "just beside them";
  }
}

TEST(SegmentNames, EachKindIsReadWhole) {
  const auto home = parse_segment_name("beeline-h-home-9-5000", "h");
  ASSERT_TRUE(home);
  EXPECT_EQ(home->kind, shm::SegmentKind::kHome);
  EXPECT_EQ(home->pid, 9U);
  EXPECT_EQ(home->incarnation, shm::Incarnation(5000));
  EXPECT_TRUE(parse_segment_name("beeline-h-status-9-5000", "h"));
  EXPECT_TRUE(parse_segment_name("beeline-h-directory-70", "h"));
  const auto link = parse_segment_name("beeline-h-link-7-1000-1-9", "h");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->serial, 1U);
  EXPECT_EQ(link->peer_pid, 9U);
}

TEST(SegmentNames, AnyOtherTextIsNone) {
  for (const char* name :
       {"", "other-h-home-9-5000", "beeline-x-home-9-5000", "beeline-h", "beeline-h-nothing-1",
        "beeline-h-home", "beeline-h-home-9", "beeline-h-home-9-", "beeline-h-home-x-1",
        "beeline-h-home-9-5000-1", "beeline-h-status", "beeline-h-status-9", "beeline-h-link",
        "beeline-h-link-7", "beeline-h-link-7-1000", "beeline-h-link-7-1000-1",
        "beeline-h-link-7-1000-1-", "beeline-h-directory", "beeline-h-home-99999999999-1"}) {
    EXPECT_FALSE(parse_segment_name(name, "h")) << name;
  }
  EXPECT_EQ(memfd_name("/memfd:beeline-h (deleted)"), "beeline-h");
  EXPECT_EQ(memfd_name("/memfd:beeline-h"), "beeline-h");
  EXPECT_EQ(memfd_name("/tmp/memfd:beeline-h"), "");
}

TEST(SegmentNames, TheShortOneIsWithoutTheHive) {
  EXPECT_EQ(short_segment_name("beeline-h-home-9-5000"), "home-9-5000");
  EXPECT_EQ(short_segment_name("beeline-my-link-1-link-7-1000-1-9"), "link-7-1000-1-9");
  for (const char* other : {"", "case", "beeline-h-home-x", "beeline-h", "x-h-home-9-5000"}) {
    EXPECT_EQ(short_segment_name(other), other);
  }
}

TEST(Words, TimesThatCannotBeAreNone) {
  EXPECT_TRUE(unix_ms(0).is_null());
  EXPECT_EQ(unix_ms(1'000'000'000), 1000);
  Segment segment;
  EXPECT_TRUE(age_ms(segment, 1).is_null()) << "a saved file has another clock";
  segment.now_ns = 5'000'000;
  EXPECT_TRUE(age_ms(segment, -1).is_null());
  EXPECT_TRUE(age_ms(segment, 6'000'000).is_null());
  EXPECT_EQ(age_ms(segment, 2'000'000), 3);
}

// ---- Files --------------------------------------------------------------------------------------

class DumpTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "dump-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A file of the first `length` bytes.
  std::string write(Sample& sample, const std::string& name, std::uint64_t length) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(sample.data()), static_cast<std::streamsize>(length));
    return path;
  }
  Segment saved(Sample sample, const std::string& name) {
    auto segment = load_segment(saved_file(write(sample, name, sample.bytes().size())));
    if (!segment) throw std::runtime_error(segment.error().text);
    return std::move(*segment);
  }
  // Held by a process, in place of a file.
  Source held(Sample sample) {
    auto fd = os::create_memfd("dump", sample.bytes().size());
    EXPECT_TRUE(fd);
    EXPECT_TRUE(os::write_at(fd->get(), 0, sample.bytes()));
    struct stat found {};
    EXPECT_EQ(::fstat(fd->get(), &found), 0);
    held_.push_back(std::move(*fd));
    return {"dump",       "/proc/self/fd/" + std::to_string(held_.back().get()),
            false,        false,
            found.st_dev, found.st_ino};
  }
  static Segments all_of(Segment segment) {
    std::vector<Segment> list;
    list.push_back(std::move(segment));
    return Segments(std::move(list));
  }

  std::string folder_;
  std::vector<os::UniqueFd> held_;
};

TEST_F(DumpTest, AFileWithoutALegalSizeIsRefused) {
  Sample sample = test::sample_status();
  const auto code_of = [](const std::string& path) {
    const auto segment = load_segment(saved_file(path));
    return std::string(segment ? "loaded" : to_string(segment.error().code));
  };
  EXPECT_EQ(code_of(write(sample, "short", 100)), to_string(ErrorCode::kBadSegment));
  EXPECT_EQ(code_of(folder_), to_string(ErrorCode::kBadSegment)) << "a folder";
  EXPECT_EQ(code_of(folder_ + "/none"), to_string(ErrorCode::kSystem));
  sample.poke<std::uint64_t>(0, 1);
  EXPECT_EQ(code_of(write(sample, "foreign", 4096)), to_string(ErrorCode::kBadSegment));
  sample = test::sample_status();
  const std::string huge = write(sample, "huge", 4096);
  std::filesystem::resize_file(huge, std::uint64_t{1} << 42);
  EXPECT_EQ(code_of(huge), to_string(ErrorCode::kBadSegment));
}

// The file of a link ends where its memory ends: the link is shown as long as it may become. A file
// that was cut is shown as it is.
TEST_F(DumpTest, TheFileOfALinkMayBeShorterThanTheLinkButNotThanItsAnnouncedMemory) {
  Sample sample = test::sample_link();
  const shm::LinkLayout layout(test::kSmallContract);
  const std::uint64_t announced = layout.slabs[0] + 2 * layout.classes[0].slab_bytes;
  const auto finding_of = [&](std::uint64_t length) {
    const auto segment = load_segment(saved_file(write(sample, "link", length)));
    if (!segment) return std::string(to_string(segment.error().code));
    const auto finding = shm::verify_segment(segment->copy.bytes(), shm::Taken::kAtRest);
    return finding ? std::string(finding->invariant) : "sound";
  };
  EXPECT_EQ(finding_of(layout.bytes), "sound");
  EXPECT_EQ(finding_of(announced), "sound");
  EXPECT_EQ(finding_of(announced - 1), "segment.size");
  EXPECT_EQ(finding_of(layout.first_extent), "segment.size");
  EXPECT_EQ(finding_of(sizeof(shm::SegmentHeader)), "segment.size");
  sample.poke(layout.control + offsetof(shm::LinkControl, slabs_allocated), 0U);
  EXPECT_EQ(finding_of(layout.stamps), "slot.slab_allocated") << "its strings are there";
  EXPECT_EQ(finding_of(layout.stamps - 1), "segment.size");
  // Any reader may make the file longer.
  sample = test::sample_link();
  const std::string path = write(sample, "longer", layout.bytes);
  std::filesystem::resize_file(path, std::uint64_t{1} << 42);
  const auto longer = load_segment(saved_file(path));
  ASSERT_TRUE(longer) << longer.error().text;
  EXPECT_FALSE(shm::verify_segment(longer->copy.bytes(), shm::Taken::kAtRest));
}

TEST_F(DumpTest, ADescriptorThatCannotBeReadIsAnError) {
  Sample sample = test::sample_status();
  const std::string path = write(sample, "status", 4096);
  EXPECT_FALSE(Capture::take(-1, "nothing"));
  const os::UniqueFd blind(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto copy = Capture::take(blind.get(), "blind");
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().text.find("cannot read blind at offset 0"), std::string::npos);
  EXPECT_FALSE(save_copy(-1, folder_ + "/out"));
  EXPECT_FALSE(save_copy(blind.get(), folder_ + "/out"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out.part")) << "half a copy is left";
  const os::UniqueFd good(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(save_copy(good.get(), folder_ + "/none/out"));
  std::filesystem::create_directory(folder_ + "/taken");
  EXPECT_FALSE(save_copy(good.get(), folder_ + "/taken"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/taken.part"));
  EXPECT_TRUE(save_copy(good.get(), folder_ + "/out"));
}

// ---- Segments -----------------------------------------------------------------------------------

TEST_F(DumpTest, AgentsAreFoundByNumberNameAndShortName) {
  Sample sample(shm::DirectoryLayout::kBytes);
  shm::DirectoryWriter writer(sample.data(), 70, shm::kDefaultMaxPayload, 1);
  const shm::AgentRecord records[] = {
      test::sample_record(1, 0, "king"), test::sample_record(7, 1, "worker@a"),
      test::sample_record(8, 1, "worker@b"), test::sample_record(9, 1, "12"),
      test::sample_record(0, 0, "")};
  writer.set_agent_count(5);
  writer.publish(records, 5);
  std::vector<Segment> segments;
  segments.push_back(saved(std::move(sample), "directory"));
  segments.push_back(saved(test::sample_directory(), "older"));
  segments.push_back(saved(test::sample_status(), "status"));
  const Segments all(std::move(segments));
  using Pids = std::vector<std::uint32_t>;
  EXPECT_EQ(all.find_agents("king"), Pids{1});
  EXPECT_EQ(all.find_agents("7"), Pids{7});
  EXPECT_EQ(all.find_agents("worker"), (Pids{7, 8}));
  EXPECT_EQ(all.find_agents("12"), Pids{}) << "a number is a pid and never a name";
  EXPECT_EQ(all.find_agents("nobody"), Pids{});
  EXPECT_EQ(all.find_agents("77"), Pids{});
  EXPECT_EQ(all.agent_name(77), "");
}

TEST_F(DumpTest, WithoutADirectoryAPidIsKnownByItsSegments) {
  const Segments all = all_of(saved(test::sample_status(), "status"));
  EXPECT_EQ(all.find_agents("9"), std::vector<std::uint32_t>{test::kReader});
  EXPECT_EQ(agent_text(all, 9), "pid 9");
  EXPECT_EQ(all.directory(), nullptr);
}

TEST_F(DumpTest, ALifeThatTheDirectoryDoesNotNameYetIsAlive) {
  const auto is_live = [&](shm::AgentWord word) {
    Sample directory(shm::DirectoryLayout::kBytes);
    shm::DirectoryWriter writer(directory.data(), 71, shm::kDefaultMaxPayload, 1);
    const shm::AgentRecord records[] = {test::sample_record(test::kReader, 1, "lead")};
    writer.set_word(0, word);
    writer.set_agent_count(1);
    writer.publish(records, 1);
    std::vector<Segment> segments;
    segments.push_back(saved(std::move(directory), "directory"));
    auto status = load_segment(held(test::sample_status()));
    EXPECT_TRUE(status);
    segments.push_back(std::move(*status));
    const Segments all(std::move(segments));
    EXPECT_EQ(all.runs(all.all()[1]), all.all()[1].live);
    return all.all()[1].live;
  };
  using State = shm::AgentState;
  EXPECT_TRUE(is_live({shm::Incarnation(test::kReaderLife.value() - 1), State::kRunning}));
  EXPECT_TRUE(is_live({test::kReaderLife, State::kRunning}));
  EXPECT_FALSE(is_live({test::kReaderLife, State::kAway}));
  EXPECT_FALSE(is_live({test::kReaderLife, State::kDead}));
  EXPECT_FALSE(is_live({test::kReaderLife, State::kStarting}));
  EXPECT_FALSE(is_live({test::kReaderLife + 1, State::kRunning}));
}

TEST_F(DumpTest, EveryWordOfAHomeHasAName) {
  const shm::HomeLayout layout(test::kSmallInbox);
  const std::uint64_t policy = layout.control + offsetof(shm::HomeControl, policy);
  const std::uint64_t flags = offsetof(shm::Entry, header) + offsetof(shm::MessageHeader, flags);
  for (const auto& [number, name] : {std::pair(0U, "aged"), std::pair(1U, "strict"),
                                     std::pair(2U, "fifo"), std::pair(9U, "unknown")}) {
    Sample sample = test::sample_home();
    sample.poke<std::uint32_t>(policy, number);
    for (std::uint32_t i = 0; i < test::kSmallInbox; ++i) {
      sample.poke<std::uint16_t>(layout.entries + i * sizeof(shm::Entry) + flags, 0xffff);
    }
    Segment segment = saved(std::move(sample), "home");
    segment.shape.reset();  // the walkers would have refused part of it
    const Segments all = all_of(std::move(segment));
    const std::string text = dump_segment(all.all()[0], all, Listing::kAll).dump();
    EXPECT_NE(text.find(name), std::string::npos) << text;
    for (const char* mark : {"awaited", "unasked", "was-dead", "copy", "cut", "ack", "control",
                             "urgent-lane", "requires-ack"}) {
      EXPECT_NE(text.find(mark), std::string::npos) << mark;
    }
  }
}

TEST_F(DumpTest, EntriesLeadToTheirLinkAndItsStringsOrNowhere) {
  Sample home = test::sample_home();
  const shm::HomeLayout layout(test::kSmallInbox);
  const std::uint64_t row = offsetof(shm::EntryWord, row);
  home.poke<std::uint16_t>(layout.entries + row, 0xfffe);  // no row has this number
  std::vector<Segment> segments;
  segments.push_back(saved(std::move(home), "home"));
  segments.push_back(saved(test::sample_link(), "link"));
  const Segments all(std::move(segments));
  const Segment& link = all.all()[1];
  EXPECT_NE(dump_segment(all.all()[0], all).dump().find("\"type\":\"task\""), std::string::npos);
  EXPECT_EQ(all.find_home(test::kReader), &all.all()[0]);
  EXPECT_EQ(all.find_home(test::kSender), nullptr);
  EXPECT_EQ(all.find_link(test::kSender, {shm::Incarnation(1000), 77}), nullptr);
  EXPECT_EQ(all.find_link(test::kSender, {shm::Incarnation(77), 1}), nullptr);
  EXPECT_EQ(string_of(&link, 0), "");
  EXPECT_EQ(string_of(&link, 1), "task");
  EXPECT_EQ(string_of(&link, 200), "#200");
  EXPECT_EQ(string_of(nullptr, 3), "#3");
  shm::MessageHeader header{};
  header.flags = shm::kFlagSlab;
  header.length = 1000;
  header.slab = 1;
  EXPECT_EQ(preview_of(header, {}, nullptr), "");
  EXPECT_TRUE(preview_of(header, {}, &link).ends_with("..."));
  header.type = shm::kCarriedText;
  EXPECT_EQ(texts_of(&link, header).type, "");
  EXPECT_EQ(texts_of(nullptr, header).type, "#65535");
  header.slab = shm::kNoSlab.value();
  EXPECT_EQ(preview_of(header, {}, &link), "");
  EXPECT_EQ(texts_of(&link, header).type, "#65535");
}

TEST_F(DumpTest, AStatusPageSaysHowItsAgentSleeps) {
  for (const auto& [word, name] :
       {std::pair(0U, "awake"), std::pair(1U, "asleep (futex)"), std::pair(2U, "asleep (eventfd)"),
        std::pair(3U, "unknown"), std::pair(8U, "awake"), std::pair(10U, "asleep (eventfd)")}) {
    Sample sample = test::sample_status();
    sample.poke<std::uint64_t>(offsetof(shm::StatusPage, sleep), word);
    Segment segment = saved(std::move(sample), "status");
    Json out;
    dump_status(segment, out);
    EXPECT_EQ(out["status"]["sleep"], name);
  }
}

// ---- Documents ----------------------------------------------------------------------------------

// Free places are no agents, whatever agent had them before. Ended agents are listed on demand.
TEST_F(DumpTest, FreePlacesAndDeadAgentsAreNotListed) {
  Sample sample(shm::DirectoryLayout::kBytes);
  shm::DirectoryWriter writer(sample.data(), 70, shm::kDefaultMaxPayload, 1);
  const shm::AgentRecord records[] = {test::sample_record(1, 0, "king"),
                                      test::sample_record(0, 0, ""),
                                      test::sample_record(8, 1, "gone")};
  using State = shm::AgentState;
  writer.set_word(0, {shm::Incarnation(10), State::kRunning});
  writer.set_word(1, {shm::Incarnation(20), State::kDead});
  writer.set_word(2, {shm::Incarnation(30), State::kDead});
  writer.set_agent_count(3);
  writer.publish(records, 3);
  const Segments all = all_of(saved(std::move(sample), "directory"));
  const Json present = dump_segment(all.all()[0], all);
  EXPECT_EQ(present.at("tree"), Json({"king (1) kernel, idle"}));
  EXPECT_EQ(present.at("agents").size(), 1U);
  EXPECT_EQ(present.at("directory").at("free_places"), 1);
  EXPECT_EQ(present.at("directory").at("dead_agents"), 1);
  const Json whole = dump_segment(all.all()[0], all, Listing::kAll);
  EXPECT_EQ(whole.at("tree"), Json({"king (1) kernel, idle", "`-- gone (8) kernel, dead"}));
}

// Whether the legend has all members of an object, or of the objects in a list.
void expect_explained(const Json& json, const std::string& legend) {
  if (json.is_array()) {
    for (const Json& each : json) expect_explained(each, legend);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    expect_explained(value, legend);
    for (const char* not_in_text : {"source", "ok", "live"}) {
      if (key == not_in_text) return;
    }
    EXPECT_NE(legend.find("\n  " + heading_of(key) + ' '), std::string::npos) << key;
  }
}

TEST_F(DumpTest, TheLegendExplainsEveryWord) {
  const std::string legend = legend_text();
  std::vector<Segment> segments;
  segments.push_back(saved(test::sample_directory(), "directory"));
  segments.push_back(saved(test::sample_home(), "home"));
  segments.push_back(saved(test::sample_link(), "link"));
  segments.push_back(saved(test::sample_status(), "status"));
  segments.push_back(saved(test::sample_status(), "broken"));
  segments.back().shape = shm::Broken{"header.kind", 0, 0, 0};
  const Segments all(std::move(segments));
  for (const Segment& segment : all.all()) {
    expect_explained(dump_segment(segment, all, Listing::kAll), legend);
  }
  for (int reason = 1; reason <= 8; ++reason) {
    const std::string word(shm::to_string(static_cast<shm::DeadReason>(reason)));
    EXPECT_NE(legend.find("\n  " + word + ' '), std::string::npos) << word;
  }
}

TEST_F(DumpTest, NumbersInTheTextHaveTheirUnits) {
  EXPECT_EQ(heading_of("size_bytes"), "size");
  EXPECT_EQ(heading_of("started_unix_ms"), "started");
  const Segments all = all_of(saved(test::sample_home(), "home"));
  Json document = dump_segment(all.all()[0], all);
  document["inbox"][0]["age_ms"] = 1'234;
  document["policy"]["created_unix_ms"] = 1000;
  const std::string text = text_of(document);
  for (const char* part : {"1.2 s", "rank step 10 s", "KiB   allocated ", "1970-01-01T00:00:01Z"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

// A half-done change of a running owner breaks no invariant; a real violation is found.
TEST_F(DumpTest, ASegmentOfARunningOwnerIsLookedAtAgain) {
  Sample sample = test::sample_link();
  const std::uint64_t count =
      shm::LinkLayout(test::kSmallContract).control + offsetof(shm::LinkControl, string_count);
  sample.poke<std::uint32_t>(count, 300);
  const auto segment = load_segment(held(std::move(sample)));
  ASSERT_TRUE(segment);
  EXPECT_EQ(verify(*segment, false)["ok"], false);
  const std::uint32_t sound = 2;
  ASSERT_EQ(::pwrite(held_.back().get(), &sound, sizeof(sound), static_cast<off_t>(count)), 4);
  EXPECT_EQ(verify(*segment, false)["ok"], true) << "it was being written";
  held_.clear();
  EXPECT_EQ(verify(*segment, false)["ok"], false) << "the first copy is all that there is";
}

}  // namespace
}  // namespace beeline::dump
