#pragma once

// Reads the keys of a JSON object that others wrote. The first key that is wrong is the error; a
// key that nobody read is one too.

#include <concepts>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <beeline/result.h>

namespace beeline::steward {

class JsonFields {
 public:
  // `what` is the object for people. The object outlives this one.
  JsonFields(std::string what, const nlohmann::json& object)
      : what_(std::move(what)), object_(object) {
    if (!object_.is_object()) refuse("must be a JSON object");
  }

  void read(const char* key, std::string& to) {
    const auto* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return refuse_value(key, "a text", *found);
    to = found->get<std::string>();
    if (to.find('\0') != std::string::npos) refuse_value(key, "a text without NUL", *found);
  }
  void read(const char* key, bool& to) {
    const auto* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return refuse_value(key, "true or false", *found);
    to = found->get<bool>();
  }
  template <std::unsigned_integral Number>
  void read(const char* key, Number& to, std::uint64_t least, std::uint64_t most) {
    const auto* const found = find(key);
    if (found == nullptr) return;
    const bool fits = found->is_number_unsigned() && found->get<std::uint64_t>() >= least &&
                      found->get<std::uint64_t>() <= most;
    if (!fits) return refuse_value(key, fmt::format("a number from {} to {}", least, most), *found);
    to = static_cast<Number>(found->get<std::uint64_t>());
  }
  void read(const char* key, std::vector<std::string>& to) {
    const auto* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return refuse_value(key, "a list of texts", *found);
    for (const auto& item : *found) {
      if (!item.is_string()) return refuse_value(key, "a list of texts", item);
      to.push_back(item.get<std::string>());
    }
  }
  void read(const char* key, std::map<std::string, std::string>& to) {
    const auto* const found = find(key);
    if (found == nullptr) return;
    if (!found->is_object()) return refuse_value(key, "an object of texts", *found);
    for (const auto& [name, value] : found->items()) {
      if (!value.is_string()) return refuse_value(key, "an object of texts", value);
      to[name] = value.get<std::string>();
    }
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
  void refuse(std::string_view text) {
    if (error_.empty()) error_ = fmt::format("{}: {}", what_, text);
  }
  // Fails if a key was wrong, missing or unknown.
  [[nodiscard]] Result<void> finish() {
    if (object_.is_object()) {
      for (const auto& [key, value] : object_.items()) {
        if (known_.contains(key)) continue;
        refuse(fmt::format("unknown key \"{}\"; it knows {}", key, fmt::join(known_, ", ")));
      }
    }
    if (!error_.empty()) return fail(ErrorCode::kInvalid, error_);
    return {};
  }

 private:
  void refuse_value(const char* key, std::string_view wanted, const nlohmann::json& found) {
    constexpr std::size_t kMostShown = 40;
    const auto shown = found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    refuse(fmt::format("\"{}\" must be {}, it is {}", key, wanted, shown.substr(0, kMostShown)));
  }

  std::string what_;
  const nlohmann::json& object_;
  std::set<std::string> known_{};
  std::string error_{};
};

}  // namespace beeline::steward
