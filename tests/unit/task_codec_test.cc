// The bytes of tasks and results: they come back as they were, and no lie in them is believed.

#include "src/agent/task_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "shm/task_form.h"

namespace beeline {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <typename Value>
std::string form_of(const Value& value) {
  return std::string(encode(value).text());
}
std::string failure_of(std::string_view text) { return std::string(encode_failure(text).text()); }
Result<Task> read_task(std::span<const std::byte> bytes) {
  Task task;
  if (const auto good = decode_task(bytes, task); !good) return tl::unexpected(good.error());
  return task;
}

Task a_task() {
  return {.id = "ext-7-count",
          .description = "count the words",
          .params = {{"", "an empty key"}, {"file", "a.txt"}, {"zone", std::string("\0\xff", 2)}},
          .context = std::string("\x01\0\x02", 3),
          .timeout = std::chrono::seconds(7),
          .parent_task = "up",
          .priority = -3};
}

TaskResult a_result() {
  return {.exit_code = -7,
          .output = std::string(100'000, 'x'),
          .artifacts = {{"list", "3 words"}},
          .metadata = {{"a", ""}, {"b", "2"}}};
}

TEST(TaskCodec, TasksAndResultsComeBackAsTheyWere) {
  for (const Task& task : {Task{}, a_task()}) {
    const std::string form = form_of(task);
    EXPECT_EQ(form.size(), encoded_bytes(task));
    const auto back = read_task(bytes_of(form));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(*back, task);
  }
  for (const TaskResult& result : {TaskResult{}, a_result()}) {
    const std::string form = form_of(result);
    EXPECT_EQ(form.size(), encoded_bytes(result));
    const auto back = decode_result(bytes_of(form));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(*back, result);
  }
}

TEST(TaskCodec, AFailureIsAnErrorWithItsText) {
  const auto back = decode_result(bytes_of(failure_of("no such file")));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kFailed);
  EXPECT_EQ(back.error().text, "task failed: no such file");
}

TEST(TaskCodec, ATimeBeyondTheClockIsBounded) {
  Task task;
  task.timeout = std::chrono::milliseconds::max();
  const auto back = read_task(bytes_of(form_of(task)));
  ASSERT_TRUE(back);
  EXPECT_LT(back->timeout, std::chrono::years(40));
  task.timeout = std::chrono::milliseconds(-1);
  EXPECT_EQ(read_task(bytes_of(form_of(task)))->timeout.count(), 0);
}

TEST(TaskCodec, NoPartOfAFormIsAForm) {
  TaskResult result = a_result();
  result.output = "short";
  const std::string task = form_of(a_task());
  const std::string answer = form_of(result);
  const std::string failure = failure_of("why");
  for (std::size_t i = 0; i < task.size(); ++i) {
    EXPECT_FALSE(read_task(bytes_of(task).first(i))) << i;
  }
  for (std::size_t i = 0; i < answer.size(); ++i) {
    EXPECT_FALSE(decode_result(bytes_of(answer).first(i))) << i;
  }
  for (std::size_t i = 0; i < failure.size(); ++i) {
    EXPECT_EQ(decode_result(bytes_of(failure).first(i)).error().code, ErrorCode::kProtocol) << i;
  }
  EXPECT_FALSE(read_task(bytes_of(task + "x"))) << "something follows";
  EXPECT_FALSE(decode_result(bytes_of(answer + "x")));
  EXPECT_EQ(decode_result(bytes_of(failure + "x")).error().code, ErrorCode::kProtocol);
  EXPECT_FALSE(read_task(bytes_of(answer)));
  EXPECT_FALSE(decode_result(bytes_of(task)));
}

TEST(TaskCodec, LyingCountsAndLengthsAreRefusedBeforeAnythingIsTaken) {
  const auto decode_with = [](std::size_t offset, std::uint32_t lie) {
    std::string form = form_of(a_task());
    std::memcpy(form.data() + offset, &lie, sizeof(lie));
    return read_task(bytes_of(form));
  };
  EXPECT_TRUE(decode_with(offsetof(shm::TaskHead, number), 5)) << "any priority is legal";
  for (const std::uint32_t lie : {0U, 2U, 4U, 0x7fffffffU, 0xffffffffU}) {
    EXPECT_FALSE(decode_with(offsetof(shm::TaskHead, pairs), lie)) << lie;
    EXPECT_EQ(decode_with(offsetof(shm::TaskHead, pairs) + 4, lie).has_value(), lie == 0);
    EXPECT_EQ(decode_with(offsetof(shm::TaskHead, texts), lie).has_value(), lie == 4);
    EXPECT_FALSE(decode_with(sizeof(shm::TaskHead), lie)) << "the length of the id, " << lie;
  }
  EXPECT_FALSE(decode_with(offsetof(shm::TaskHead, reserved), 1));
  EXPECT_FALSE(decode_with(offsetof(shm::TaskHead, timeout_ms) + 4, 0xffffffff));
  const auto found = decode_with(offsetof(shm::TaskHead, form), 9);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kProtocol);
  EXPECT_NE(found.error().text.find("the head"), std::string::npos) << found.error().text;
}

TEST(TaskCodec, AKeyIsThereOnceAndInOrder) {
  for (const auto& [first, second] : {std::pair("b", "a"), std::pair("a", "a")}) {
    std::string form(sizeof(shm::TaskHead) + 4 * 5 + 10, 0);
    const shm::TaskHead head{.form = static_cast<std::uint32_t>(shm::TaskForm::kResult),
                             .number = 0,
                             .timeout_ms = 0,
                             .texts = 1,
                             .pairs = {2, 0},
                             .reserved = 0};
    shm::TaskFormWriter writer(form, head);
    for (const char* text : {"output", first, "1", second, "2"}) writer.put(text);
    EXPECT_FALSE(decode_result(bytes_of(form))) << first << second;
  }
}

}  // namespace
}  // namespace beeline
