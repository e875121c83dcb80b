#pragma once

// Reads the keys of a JSON object that others wrote. The first key that is wrong is the error; a
// key that nobody read is one too.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <beeline/result.h>

#include "src/control/json_values.h"

namespace beeline::service {

// A read() is true if the key is there and fits.
class JsonFields {
 public:
  // `what` is the object for people. The object outlives this one.
  JsonFields(std::string what, const nlohmann::json& object)
      : what_(std::move(what)), object_(object) {
    if (!object_.is_object()) refuse("must be a JSON object");
  }

  bool read(const char* key, std::string& to) {
    const auto* const found = find(key);
    if (found == nullptr) return false;
    if (!found->is_string()) return refuse_value(key, "a text", *found);
    to = found->get<std::string>();
    if (to.find('\0') != std::string::npos) return refuse_value(key, "a text without NUL", *found);
    return true;
  }
  // An object or a list counts as its JSON text.
  bool read_any_text(const char* key, std::string& to) {
    const auto* const found = find(key);
    if (found == nullptr || found->is_string()) return read(key, to);
    if (!found->is_structured()) return refuse_value(key, "a text, an object or a list", *found);
    to = found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return true;
  }
  bool read(const char* key, bool& to) {
    const auto* const found = find(key);
    if (found == nullptr) return false;
    if (!found->is_boolean()) return refuse_value(key, "true or false", *found);
    to = found->get<bool>();
    return true;
  }
  template <std::integral Number>
  bool read(const char* key, Number& to, std::type_identity_t<Number> least,
            std::type_identity_t<Number> most) {
    const auto* const found = find(key);
    if (found == nullptr) return false;
    Number number = 0;
    const bool fits =
        control::take_json_number(*found, number) && number >= least && number <= most;
    if (!fits) {
      return refuse_value(key, fmt::format("a number from {} to {}", least, most), *found);
    }
    to = number;
    return true;
  }
  bool read(const char* key, std::vector<std::string>& to) {
    const auto* const found = find(key);
    if (found == nullptr) return false;
    if (!found->is_array()) return refuse_value(key, "a list of texts", *found);
    for (const auto& item : *found) {
      if (!item.is_string()) return refuse_value(key, "a list of texts", item);
      to.push_back(item.get<std::string>());
    }
    return true;
  }
  bool read(const char* key, std::map<std::string, std::string>& to) {
    const auto* const found = find(key);
    if (found == nullptr) return false;
    if (!found->is_object()) return refuse_value(key, "an object of texts", *found);
    for (const auto& [name, value] : found->items()) {
      if (!value.is_string()) return refuse_value(key, "an object of texts", value);
      to[name] = value.get<std::string>();
    }
    return true;
  }
  // The value of a key that is read elsewhere; null if there is none.
  [[nodiscard]] const nlohmann::json* find(const char* key) {
    known_.insert(key);
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    return !object_.is_object() || found == object_.end() ? nullptr : &*found;
  }
  void require(const char* key) {
    if (find(key) == nullptr) refuse(fmt::format("\"{}\" is missing", key));
  }
  bool refuse(std::string_view text) {
    if (error_.empty()) error_ = fmt::format("{}: {}", what_, text);
    return false;
  }
  // Fails if a key was wrong, missing or unknown.
  [[nodiscard]] Result<void> finish() {
    if (error_.empty() && object_.is_object()) refuse_unknown_key();
    if (!error_.empty()) return fail(ErrorCode::kInvalid, error_);
    return {};
  }

 private:
  static constexpr std::size_t kMostShown = 40;

  void refuse_unknown_key() {
    for (const auto& [key, value] : object_.items()) {
      if (known_.contains(key)) continue;
      refuse(fmt::format("unknown key \"{}\"; it knows {}", key.substr(0, kMostShown),
                         known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", "))));
      return;
    }
  }
  bool refuse_value(const char* key, std::string_view wanted, const nlohmann::json& found) {
    const auto shown = found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return refuse(
        fmt::format("\"{}\" must be {}, it is {}", key, wanted, shown.substr(0, kMostShown)));
  }

  std::string what_;
  const nlohmann::json& object_;
  std::set<std::string> known_{};
  std::string error_{};
};

}  // namespace beeline::service
