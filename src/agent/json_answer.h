#pragma once
// The JSON of a request to a service of the hive, and of its answer.

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <beeline/result.h>

#include "src/control/json_values.h"

namespace beeline {

// A request to a service: "hive.spawn" to "the steward", for example.
struct ServiceCall {
  std::string_view service{};
  std::string_view type{};
};

// Errors: kInvalid (a text is no UTF-8).
[[nodiscard]] Result<std::string> text_of_request(ServiceCall call, const nlohmann::json& json);
// The error that the service answered. An error whose code we do not know is kProtocol.
[[nodiscard]] std::optional<Error> refusal_in(ServiceCall call, const nlohmann::json& json);

// Reads an object of an answer. The first value that is missing or of another type is the error.
class JsonAnswer {
 public:
  explicit JsonAnswer(const nlohmann::json& json) : json_(json) {}

  void read(const char* key, std::string& to);
  void read(const char* key, bool& to);
  template <std::integral Number>
  void read(const char* key, Number& to) {
    const nlohmann::json* const at = find(key, "a number");
    if (at != nullptr && !control::take_json_number(*at, to))
      refuse(key, number_words<Number>(), at);
  }
  template <std::integral Number>
  void read(const char* key, std::vector<Number>& to) {
    for (const nlohmann::json& each : list(key)) {
      Number number = 0;
      if (!control::take_json_number(each, number)) return refuse(key, "a list of numbers", &each);
      to.push_back(number);
    }
  }
  // null is no value.
  template <std::integral Number>
  void read(const char* key, std::optional<Number>& to) {
    const nlohmann::json* const at = find(key, "a number or null");
    if (at == nullptr || at->is_null()) return;
    Number number = 0;
    if (!control::take_json_number(*at, number)) return refuse(key, number_words<Number>(), at);
    to = number;
  }
  // `read_item(item)` makes a value of each object of the list.
  template <typename Value, typename ReadItem>
  void read_list(const char* key, std::vector<Value>& to, const ReadItem& read_item) {
    for (const nlohmann::json& each : list(key)) {
      JsonAnswer item(each);
      to.push_back(read_item(item));
      adopt(item.error());
    }
  }
  [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  // REQUIRES: has(key).
  [[nodiscard]] JsonAnswer inner(const char* key) const { return JsonAnswer(json_[key]); }

  // Empty: all was read.
  [[nodiscard]] const std::string& error() const { return error_; }
  // An error inside of an item.
  void adopt(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

 private:
  template <std::integral Number>
  static std::string number_words() {
    return fmt::format("a number from {} to {}", std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::max());
  }
  [[nodiscard]] const nlohmann::json& list(const char* key);
  const nlohmann::json* find(const char* key, std::string_view wanted);
  void refuse(const char* key, std::string_view wanted, const nlohmann::json* found);

  const nlohmann::json& json_;
  std::string error_{};
};

// The value that `read(answer)` makes of an answer that is no error. Errors: the one that the
// service answered; kProtocol (the answer has no such form).
template <typename Read>
auto read_answer(ServiceCall call, std::string_view text, const Read& read)
    -> Result<decltype(read(std::declval<JsonAnswer&>()))> {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (auto refused = refusal_in(call, json)) return tl::unexpected(std::move(*refused));
  JsonAnswer answer(json);
  auto value = read(answer);
  if (answer.error().empty()) return value;
  return fail(ErrorCode::kProtocol,
              fmt::format("{} broke the form of its answer to {}: {}; it has another version than "
                          "this program",
                          call.service, call.type, answer.error()));
}

}  // namespace beeline
