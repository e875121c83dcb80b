// shm-dump as a program: the test plays the keeper of a hive and holds its segments open.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/control/hive_holder.h"
#include "src/look/segments.h"
#include "src/os/memfd.h"
#include "tests/unit/verify_samples.h"

namespace beeline {
namespace {

using nlohmann::json;
using test::Sample;

struct Outcome {
  int code = -1;
  std::string out;  // stdout and stderr
};

class ShmDump : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "shm-dump-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_EQ(::setenv("BEELINE_DIR", folder_.c_str(), 1), 0);
    hive_ = fmt::format("dump-{}", ::getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_lock(int pid) {
    std::ofstream(folder_ + "/lock") << control::holder_text({hive_, pid, "2026-11-21T00:00:00Z"});
  }

  // Holds a segment as an owner would: pages of zeros take no memory.
  int hold(Sample sample, const std::string& name) {
    auto fd = os::create_memfd(fmt::format("beeline-{}-{}", hive_, name), sample.bytes().size());
    EXPECT_TRUE(fd) << fd.error().text;
    for (std::size_t at = 0; at < sample.bytes().size(); at += shm::kPage) {
      const auto page = sample.bytes().subspan(at, shm::kPage);
      const bool empty =
          std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{}; });
      if (empty) continue;
      EXPECT_EQ(::pwrite(fd->get(), page.data(), page.size(), static_cast<off_t>(at)),
                static_cast<ssize_t>(page.size()));
    }
    held_.push_back(std::move(*fd));
    return held_.back().get();
  }

  void hold_hive() {
    hold(test::sample_directory(), "directory-70");
    hold(test::sample_link(), "link-7-1000-1-9");
    hold(test::sample_home(), "home-9-5000");
    hold(test::sample_status(), "status-9-5000");
    write_lock(::getpid());
  }

  Outcome run(const std::string& arguments, bool with_stderr = true) {
    const char* bin = std::getenv("BEELINE_BIN");
    const std::string command = fmt::format("'{}/shm-dump' {} {}", bin == nullptr ? "." : bin,
                                            arguments, with_stderr ? "2>&1" : "2>/dev/null");
    Outcome outcome;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> part{};
    for (std::size_t length = 0; (length = std::fread(part.data(), 1, part.size(), pipe)) != 0;) {
      outcome.out.append(part.data(), length);
    }
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }
  Outcome of_hive(const std::string& arguments) {
    return run(fmt::format("--hive {} {}", hive_, arguments));
  }

  static const json* find_kind(const json& list, const std::string& kind) {
    for (const json& one : list) {
      if (one.at("header").at("kind") == kind) return &one;
    }
    return nullptr;
  }

  std::string folder_;
  std::string hive_;
  std::vector<os::UniqueFd> held_;
};

TEST_F(ShmDump, ShowsEverySegmentThatTheKeeperHolds) {
  hold_hive();
  const Outcome outcome = of_hive("--json");
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const json list = json::parse(outcome.out);
  ASSERT_EQ(list.size(), 4U);
  const json* home = find_kind(list, "home");
  ASSERT_NE(home, nullptr);
  EXPECT_EQ(home->at("header").at("owner"), "lead (9)");
  EXPECT_EQ(home->at("counters").at("balance"),
            "drained 13 = queued 10 + tasks 0 + leased 1 + dead 1 + done 1 + purged 0");
  const json& inbox = home->at("inbox");
  ASSERT_EQ(inbox.size(), 10U);
  EXPECT_TRUE(std::is_sorted(inbox.begin(), inbox.end(), [](const json& a, const json& b) {
    return a.at("key") < b.at("key");
  }));
  EXPECT_EQ(inbox.front().at("from"), "queen (7)");
  EXPECT_EQ(inbox.front().at("type"), "task");
  EXPECT_EQ(home->at("dead_letters").front().at("reason"), "rejected");
  EXPECT_EQ(home->at("live"), false);  // the directory says that agent 9 is away
  const json* link = find_kind(list, "link");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->at("lanes").front().at("tail"), 6);
  EXPECT_EQ(link->at("live_count"), 1);
  EXPECT_EQ(home->at("live_count"), 11);
  EXPECT_EQ(home->at("dead_count"), home->at("dead_letters").size());
  EXPECT_EQ(link->at("strings"), json({"task", "channel"}));
  EXPECT_EQ(link->at("live"), true);
  const json* directory = find_kind(list, "directory");
  ASSERT_NE(directory, nullptr);
  EXPECT_EQ(directory->at("tree").at(3), "    `-- worker (11) kernel, starting");
}

TEST_F(ShmDump, BeginsWithATableAndASum) {
  hold_hive();
  const Outcome outcome = of_hive("");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("segment ")) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 6) << outcome.out;
  for (const char* word :
       {"KiB in use", "live", "dead", "verdict", "link-7-1000-1-9  queen (7)", "lead (9)",
        " ok\n4 segments, ", " KiB in use, 12 live messages, 1 dead letter; all ok\n"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << '\n' << outcome.out;
  }
}

TEST_F(ShmDump, ANamedSegmentOrAgentIsShownInDetail) {
  hold_hive();
  const auto titles = [&](const std::string& arguments) {
    const std::string out = of_hive(arguments).out;
    EXPECT_TRUE(out.starts_with("segment ")) << out;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = out.find("\n\nbeeline-", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(titles(""), 0U);
  EXPECT_EQ(titles("home-9-5000"), 1U);
  EXPECT_EQ(titles("lead"), 3U);
  EXPECT_EQ(titles("--agent 9"), 3U);
  EXPECT_EQ(titles("queen directory-70"), 2U);
  EXPECT_EQ(titles("king"), 1U) << "the directory is the coordinator's";
  EXPECT_EQ(titles("--full"), 4U);
  EXPECT_EQ(titles("--all"), 4U);
  const Outcome inbox = of_hive("home-9-5000");
  for (const char* word : {"from", "body", "age", "queen (7)", "queued", "awaited", "7:3"}) {
    EXPECT_NE(inbox.out.find(word), std::string::npos) << word << '\n' << inbox.out;
  }
  EXPECT_NE(of_hive("directory-70").out.find("lead (9) kernel, zombie"), std::string::npos);
  EXPECT_EQ(of_hive("nobody").code, 4);
}

TEST_F(ShmDump, ListsUntakenMessagesAndWithAllTheOthersToo) {
  hold_hive();
  const auto messages = [&](const std::string& arguments) {
    return json::parse(of_hive("link-7-1000-1-9 --json" + arguments).out).front().at("messages");
  };
  ASSERT_EQ(messages("").size(), 1U) << "the inbox has a row that says so";
  EXPECT_EQ(messages("").front().at("id"), "7:7");
  const json all = messages(" --all");
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all.front().at("taken"), true);
  EXPECT_EQ(all.front().at("preview"), "hello");
  EXPECT_EQ(all.back().at("taken"), false);
  EXPECT_NE(of_hive("link-7-1000-1-9 --all").out.find(" taken "), std::string::npos);
}

// D14
TEST_F(ShmDump, AnOutputThatCannotBeWrittenIsAnError) {
  hold_hive();
  const std::string of_it = "--hive " + hive_ + ' ';
  for (const std::string& arguments :
       {of_it, of_it + "--json", of_it + "--full", of_it + "--all --json", of_it + "lead",
        of_it + "--verify", of_it + "--verify --json", of_it + "--save " + folder_ + "/full",
        of_it + "--save " + folder_ + "/full --json", std::string("--layout"),
        std::string("--explain"), std::string("--help"), std::string("--version")}) {
    const Outcome full = run(arguments + " 2>&1 >/dev/full || exit $?; :");
    EXPECT_EQ(full.code, 1) << arguments;
    EXPECT_NE(full.out.find("cannot write to our stdout: No space left on device"),
              std::string::npos)
        << arguments << ": " << full.out;
  }
}

TEST_F(ShmDump, TheErrorForAMistypedOptionNamesTheLikelyOne) {
  const Outcome option = run("--jsno");
  EXPECT_EQ(option.code, 2);
  EXPECT_EQ(option.out,
            "shm-dump: there is no option `--jsno`; did you mean `shm-dump --json`? see "
            "`shm-dump --help`\n");
  for (const char* empty : {"''", "--hive ''", "--agent ''", "--save ''"}) {
    EXPECT_EQ(run(empty).code, 2) << empty;
  }
  const json error = json::parse(run("--json --hive nobody-has-this-one").out);
  EXPECT_EQ(error.at("code"), "no_coordinator");
  EXPECT_EQ(error.at("exit_code"), 3);
}

TEST_F(ShmDump, FindsTheReceiptsOfALinkInTheOppositeOne) {
  hold(test::sample_directory(), "directory-70");
  hold(test::sample_link(), "link-7-1000-1-9");
  write_lock(::getpid());
  EXPECT_NE(of_hive("").out.find("; 1 link: unknown how many were taken"), std::string::npos);
  Sample opposite(shm::LinkLayout(test::kSmallContract).bytes);
  const shm::Link link(opposite.data(), test::kSmallContract);
  shm::init_link(link, shm::link_identity(test::kSmallContract, 9, 7, {shm::Incarnation(5000), 3}));
  shm::open_bank(link.bank(2), test::kSenderLink, 4, 0);
  hold(std::move(opposite), "link-9-5000-3-7");
  const Outcome outcome = of_hive("--agent queen --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const json list = json::parse(outcome.out);
  ASSERT_EQ(list.size(), 2U);  // its own segments and those that it reads
  EXPECT_EQ(list.at(0).at("lanes").front().at("taken"), 4);
  EXPECT_EQ(list.at(0).at("lanes").front().at("in_lane"), 2);
  EXPECT_EQ(list.at(0).at("lanes").front().at("told_by"), "link-9-5000-3-7");
}

TEST_F(ShmDump, FindsSegmentsInOtherProcessesWhenTheKeeperHasEnded) {
  hold_hive();
  write_lock(0x3fffffff);
  EXPECT_EQ(json::parse(of_hive("--json").out).size(), 4U);
  std::filesystem::remove(folder_ + "/lock");
  EXPECT_EQ(json::parse(of_hive("--json").out).size(), 4U);
}

// The keeper moves a record that it holds to other descriptors.
TEST_F(ShmDump, ASegmentThatItsHolderHasMovedIsFoundAllTheSame) {
  hold_hive();
  const auto found = look::find_segments(hive_);
  ASSERT_TRUE(found) << found.error().text;
  ASSERT_EQ(found->size(), 4U);
  for (os::UniqueFd& fd : held_) {
    auto moved = os::duplicate(fd.get());
    ASSERT_TRUE(moved);
    fd = std::move(*moved);
  }
  for (const look::Source& source : *found) {
    const auto segment = look::load_segment(source);
    ASSERT_TRUE(segment) << segment.error().text;
    EXPECT_EQ(segment->copy.bytes().size(),
              segment->view().u64(offsetof(shm::SegmentHeader, size_bytes)));
  }
  held_.pop_back();
  EXPECT_EQ(std::count_if(found->begin(), found->end(),
                          [](const auto& source) { return bool(look::open_source(source)); }),
            3)
      << "one that it has let go of is not there any more";
}

TEST_F(ShmDump, AllocatesNothingInASegment) {
  hold_hive();
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::fstat(held_[1].get(), &before), 0);
  EXPECT_EQ(of_hive("").code, 0);
  EXPECT_EQ(of_hive("--verify").code, 0);
  EXPECT_EQ(of_hive(fmt::format("--save {}/saved", folder_)).code, 0);
  ASSERT_EQ(::fstat(held_[1].get(), &after), 0);
  EXPECT_EQ(after.st_blocks, before.st_blocks);
}

TEST_F(ShmDump, SavedCopiesAreSparseAndDumpLikeTheSegments) {
  hold_hive();
  ASSERT_EQ(of_hive(fmt::format("--save {}/saved", folder_)).code, 0);
  const Outcome outcome = run(fmt::format("--json {}/saved/*", folder_));
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(json::parse(outcome.out).size(), 4U);
  EXPECT_EQ(run(fmt::format("--verify --at-rest {}/saved/*", folder_)).code, 0);
  const std::string link =
      fmt::format("{}/saved/beeline-{}-link-7-1000-1-9.live.segment", folder_, hive_);
  struct stat found {};
  ASSERT_EQ(::stat(link.c_str(), &found), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(found.st_size), shm::LinkLayout(test::kSmallContract).bytes);
  EXPECT_LT(found.st_blocks * 512, found.st_size / 4);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(ShmDump, VerifyNamesTheFirstBrokenInvariant) {
  hold_hive();
  EXPECT_EQ(of_hive("--verify").code, 0);
  const std::uint32_t count = 300;
  const std::uint64_t at =
      shm::LinkLayout(test::kSmallContract).control + offsetof(shm::LinkControl, string_count);
  ASSERT_EQ(::pwrite(held_[1].get(), &count, sizeof(count), static_cast<off_t>(at)), 4);
  const Outcome outcome = of_hive("--verify");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(
      outcome.out.find("link-7-1000-1-9: link.string_count at offset 516: found 300, limit 255"),
      std::string::npos)
      << outcome.out;
  const Outcome table = of_hive("");
  EXPECT_NE(table.out.find("BROKEN link.string_count\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("; 1 BROKEN: see shm-dump --verify\n"), std::string::npos) << table.out;
}

TEST_F(ShmDump, ExitCodesAndErrorsSayWhatToDo) {
  const Outcome none = of_hive("");
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.out.find("up"), std::string::npos);
  hold_hive();
  EXPECT_EQ(of_hive("--agent nobody").code, 4);
  EXPECT_EQ(of_hive("--no-such-option").code, 2);
  EXPECT_EQ(run("--layout --verify").code, 2);
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("--version").code, 0);
  EXPECT_EQ(run("--hive nobody-has-this-one", false).out, "") << "results alone go to stdout";
}

TEST_F(ShmDump, AForeignLayoutIsRefusedWithBothVersions) {
  Sample sample = test::sample_status();
  sample.poke<std::uint16_t>(offsetof(shm::SegmentHeader, layout_major), 9);
  const std::string path = folder_ + "/foreign.segment";
  // Its headers may be shorter, or its segments larger than any of ours.
  for (const std::uint64_t length :
       {std::uint64_t{64}, shm::kStatusBytes, std::uint64_t{1} << 42}) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(sample.data()),
               static_cast<std::streamsize>(std::min(length, shm::kStatusBytes)));
    std::filesystem::resize_file(path, length);
    for (const char* how : {"", "--verify "}) {
      const Outcome outcome = run(how + path);
      EXPECT_EQ(outcome.code, 1);
      EXPECT_NE(outcome.out.find("layout version 9.2, this shm-dump reads 1.2"), std::string::npos)
          << outcome.out;
    }
  }
}

TEST_F(ShmDump, HalfWrittenAndRandomFilesAreShownOrRefusedButNeverTrusted) {
  Sample sample = test::sample_home();
  const std::string path = folder_ + "/half.segment";
  for (const std::size_t length : {0, 100, 512, 4096, 5000}) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(sample.data()), static_cast<std::streamsize>(length));
    EXPECT_EQ(run("--verify " + path).code, 1) << length;
    EXPECT_GE(run(path).code, 0) << length;
  }
}

TEST_F(ShmDump, BytesOfAPeerCannotReachTheTerminal) {
  Sample sample = test::sample_link();
  sample.poke<std::uint32_t>(shm::LinkLayout(test::kSmallContract).strings + 33, 0x5b1b0a9b);
  hold(std::move(sample), "link-7-1000-1-9");
  write_lock(::getpid());
  const Outcome outcome = of_hive("--full");
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.out.find("\\x9b\\n\\x1b["), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace beeline
