#include "src/steward/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "src/steward/answer.h"

namespace beeline::steward {
namespace {

namespace fs = std::filesystem;

class StewardStore : public testing::Test {
 protected:
  StewardStore() {
    root_ = (fs::temp_directory_path() / "store-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(root_.data()), nullptr);
  }
  ~StewardStore() override { fs::remove_all(root_); }
  [[nodiscard]] std::string path() const { return root_ + "/steward.db"; }
  [[nodiscard]] Store open() {
    auto store = Store::open(path(), remark_);
    EXPECT_TRUE(store) << store.error().text;
    return std::move(*store);
  }
  static Child some_child() {
    Child child;
    child.spec.name = "a";
    child.spec.command = {"p"};
    child.request = {3, "=key"};
    return child;
  }

  std::string root_;
  std::string remark_;
};

TEST_F(StewardStore, AChildComesBackAsItWas) {
  Child child = some_child();
  {
    Store store = open();
    ASSERT_TRUE(store.add(child));
    child.pid = 9;
    child.phase = Phase::kEnded;
    child.os_pid = 100;
    child.start_ticks = 5;
    child.restarts = 2;
    child.is_unwanted = true;
    child.end = ChildExit{9, -1, 15, true, "killed", "last\nlines"};
    ASSERT_TRUE(store.save(child));
    ASSERT_TRUE(store.set_hive_instance("here"));
  }
  Store store = open();
  EXPECT_EQ(store.hive_instance(), "here");
  const auto children = store.children();
  ASSERT_TRUE(children);
  ASSERT_EQ(children->size(), 1U);
  const Child& back = children->front();
  EXPECT_EQ(back.id, child.id);
  EXPECT_EQ(back.pid, child.pid);
  EXPECT_EQ(back.phase, Phase::kEnded);
  EXPECT_EQ(back.request.word, "=key");
  EXPECT_TRUE(back.is_unwanted);
  EXPECT_FALSE(back.is_forgotten);
  EXPECT_EQ(back.start_ticks, 5U);
  EXPECT_EQ(back.restarts, 2U);
  EXPECT_EQ(exit_text(*back.end), exit_text(*child.end));
  ASSERT_TRUE(store.remove(back));
  EXPECT_TRUE(store.children()->empty());
}

TEST_F(StewardStore, AnAnswerIsFoundUntilManyNewerOnes) {
  Store store = open();
  ASSERT_TRUE(store.save_answered(nullptr, {1, "#1:1"}, "first"));
  ASSERT_TRUE(store.save_answered(nullptr, {1, "#1:1"}, "second"));
  EXPECT_EQ(store.answer({1, "#1:1"}), "second");
  EXPECT_FALSE(store.answer({2, "#1:1"}));
  for (std::int64_t i = 0; i < kMostAnswers + 100; ++i) {
    ASSERT_TRUE(store.save_answered(nullptr, {2, std::to_string(i)}, "x"));
  }
  EXPECT_FALSE(store.answer({1, "#1:1"}));
  EXPECT_TRUE(store.answer({2, std::to_string(kMostAnswers)}));
  ASSERT_TRUE(store.set_hive_instance("next"));
  EXPECT_FALSE(store.answer({2, std::to_string(kMostAnswers)})) << "its agents are gone";
}

TEST_F(StewardStore, ABrokenFileIsMovedAside) {
  std::ofstream(path()) << "this is no database, however long one looks at it";
  Store store = open();
  EXPECT_TRUE(store.children()->empty());
  EXPECT_NE(remark_.find("moved to " + path() + ".broken"), std::string::npos) << remark_;
  EXPECT_TRUE(fs::exists(path() + ".broken"));
}

TEST_F(StewardStore, AFileOfALaterVersionIsLeftAlone) {
  { Store store = open(); }
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 7", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  const auto store = Store::open(path(), remark_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kWrongVersion);
  EXPECT_NE(store.error().text.find("has version 7, this steward knows 1"), std::string::npos);
}

}  // namespace
}  // namespace beeline::steward
