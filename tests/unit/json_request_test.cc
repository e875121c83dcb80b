#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "src/service/json_fields.h"
#include "src/service/json_request.h"

namespace beeline::service {
namespace {

std::string error_of(const std::string& text) {
  const auto json = parse_json_request("x.put", text);
  return json ? "" : json.error().text;
}

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonRequest, NoTextIsAnEmptyObject) {
  const auto json = parse_json_request("x.put", "");
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->is_object() && json->empty());
}

// A value of a hundred thousand levels would take all of the stack when it is shown.
TEST(JsonRequest, DepthAndValuesHaveALimit) {
  EXPECT_EQ(error_of(nested(kMaxRequestDepth)), "");
  EXPECT_EQ(error_of(nested(kMaxRequestDepth + 1)),
            "x.put: the request nests deeper than 64 levels; send such a value as a text");
  EXPECT_NE(error_of(nested(200'000)), "");
  EXPECT_EQ(
      error_of(R"({"a":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})"),
      "");
  std::string many = "[0";
  for (std::size_t i = 1; i < kMaxRequestValues; ++i) many += ",0";
  EXPECT_EQ(error_of(many + ']'), "");
  EXPECT_EQ(error_of(many + ",0]"),
            "x.put: the request has 1000001 values, at most 1000000; send them as a text");
  EXPECT_EQ(error_of("{"), "x.put: the request is no JSON");
}

TEST(JsonFieldsOfRequest, NumbersHaveTheirRange) {
  const auto json = parse_json_request("x", R"({"a":-3,"b":4294967296,"c":18446744073709551615})");
  ASSERT_TRUE(json);
  JsonFields fields("x", *json);
  std::int64_t a = 0;
  EXPECT_TRUE(fields.read("a", a, -3, 3));
  EXPECT_EQ(a, -3);
  std::uint32_t b = 7;
  EXPECT_FALSE(fields.read("b", b, 0, 10));
  EXPECT_EQ(b, 7U);
  EXPECT_FALSE(fields.read("c", a, -3, 3));
  EXPECT_EQ(fields.finish().error().text,
            "x: \"b\" must be a number from 0 to 10, it is 4294967296");
}

TEST(JsonFieldsOfRequest, AnUnknownKeyIsNamedWithTheKnownOnes) {
  const auto json = parse_json_request("x", R"({"a":1,"b":2,"zz":3})");
  ASSERT_TRUE(json);
  JsonFields fields("x", *json);
  std::int64_t a = 0;
  fields.read("a", a, 0, 9);
  fields.read("b", a, 0, 9);
  EXPECT_EQ(fields.finish().error().text, "x: unknown key \"zz\"; it knows a, b");
}

}  // namespace
}  // namespace beeline::service
