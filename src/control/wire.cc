#include "src/control/wire.h"

#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/control/json_values.h"
#include "src/control/wire_fields.h"
#include "src/control/wire_ops.h"

namespace beeline::control {
namespace {

using Json = nlohmann::json;

// ---- Value to JSON ------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(Json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    object_[name] = to_json(field);
  }
  template <typename T>
  void maybe(const char* name, T& field) {
    (*this)(name, field);
  }

 private:
  static Json to_json(Role role) { return std::string(to_string(role)); }
  static Json to_json(shm::AgentState state) { return std::string(to_string(state)); }
  static Json to_json(shm::AgentActivity activity) { return std::string(to_string(activity)); }
  static Json to_json(ErrorCode code) { return std::string(to_string(code)); }
  static Json to_json(shm::Incarnation incarnation) { return incarnation.value(); }
  template <typename T>
  static Json to_json(std::optional<T>& value) {
    return value ? to_json(*value) : Json(nullptr);
  }
  template <typename T>
  static Json to_json(std::vector<T>& values) {
    Json array = Json::array();
    for (T& value : values) array.push_back(to_json(value));
    return array;
  }
  template <typename T>
  static Json to_json(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Json object = Json::object();
      Writer writer(object);
      fields(writer, value);
      return object;
    }
  }

  Json& object_;
};

template <typename Variant>
Json object_of(const Variant& variant) {
  return std::visit(
      [](auto value) {  // a copy: `fields` describes writable structs
        Json object = Json::object();
        object["op"] = std::string(kOp<decltype(value)>);
        Writer writer(object);
        fields(writer, value);
        return object;
      },
      variant);
}

std::string text_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- JSON to value ------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& field) {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      complain(name, "is missing");
    } else {
      take(name, *found, field);
    }
  }
  template <typename T>
  void maybe(const char* name, T& field) {
    const auto found = object_.find(name);
    if (found != object_.end()) take(name, *found, field);
  }

  // The first thing that was wrong, empty if all was well.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void complain(const char* name, const std::string& what) {
    if (problem_.empty()) problem_ = fmt::format("field \"{}\" {}", name, what);
  }
  void complain_type(const char* name, std::string_view wanted, const Json& found) {
    std::string shown = text_of(found);
    if (shown.size() > 40) shown = shown.substr(0, 40) + "...";
    complain(name, fmt::format("must be {}, found {}", wanted, shown));
  }

  void take(const char* name, const Json& json, bool& field) {
    if (!json.is_boolean()) return complain_type(name, "true or false", json);
    field = json.get<bool>();
  }
  void take(const char* name, const Json& json, std::string& field) {
    if (!json.is_string()) return complain_type(name, "a string", json);
    field = *json.get_ptr<const std::string*>();
  }
  template <typename T>
  requires std::is_integral_v<T>
  void take(const char* name, const Json& json, T& field) {
    using Limits = std::numeric_limits<T>;
    if (json.is_number_unsigned()) {
      const auto value = json.get<std::uint64_t>();
      if (value <= static_cast<std::uint64_t>(Limits::max())) {
        field = static_cast<T>(value);
        return;
      }
    } else if (json.is_number_integer()) {
      const auto value = json.get<std::int64_t>();
      if (std::is_signed_v<T> && value >= static_cast<std::int64_t>(Limits::min())) {
        field = static_cast<T>(value);
        return;
      }
    }
    complain_type(name, fmt::format("a whole number from {} to {}", Limits::min(), Limits::max()),
                  json);
  }
  void take(const char* name, const Json& json, shm::Incarnation& field) {
    std::uint64_t value = 0;
    take(name, json, value);
    field = shm::Incarnation(value);
  }
  void take(const char* name, const Json& json, Role& field) {
    if (json.is_string()) {
      if (const auto role = role_from(*json.get_ptr<const std::string*>())) {
        field = *role;
        return;
      }
    }
    complain_type(name, fmt::format("one of {}", fmt::join(kRoleWords, ", ")), json);
  }
  void take(const char* name, const Json& json, shm::AgentState& field) {
    using enum shm::AgentState;
    for (const auto state : {kVacant, kStarting, kRunning, kAway, kDead}) {
      if (json.is_string() && *json.get_ptr<const std::string*>() == to_string(state)) {
        field = state;
        return;
      }
    }
    complain_type(name, "a state of an agent", json);
  }
  void take(const char* name, const Json& json, shm::AgentActivity& field) {
    using enum shm::AgentActivity;
    for (const auto activity : {kIdle, kRunning, kBlocked, kSleeping}) {
      if (json.is_string() && *json.get_ptr<const std::string*>() == to_string(activity)) {
        field = activity;
        return;
      }
    }
    complain_type(name, "an activity of an agent", json);
  }
  void take(const char* name, const Json& json, ErrorCode& field) {
    if (!json.is_string()) return complain_type(name, "an error code", json);
    field = error_code_from(*json.get_ptr<const std::string*>());
  }
  template <typename T>
  void take(const char* name, const Json& json, std::optional<T>& field) {
    field.reset();
    if (json.is_null()) return;
    T value{};
    take(name, json, value);
    field = std::move(value);
  }
  template <typename T>
  void take(const char* name, const Json& json, std::vector<T>& field) {
    if (!json.is_array()) return complain_type(name, "an array", json);
    field.clear();
    for (const Json& element : json) {
      T value{};
      take(name, element, value);
      field.push_back(std::move(value));
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void take(const char* name, const Json& json, T& field) {
    if (!json.is_object()) return complain_type(name, "an object", json);
    Reader reader(json);
    fields(reader, field);
    if (!reader.problem().empty()) complain(name, ": " + reader.problem());
  }

  const Json& object_;
  std::string problem_;
};

// Parses the fields into the alternative of `Variant` that `op` names.
template <typename Variant, std::size_t kIndex = 0>
Result<Variant> value_of(const std::string& op, const Json& object) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    return fail(ErrorCode::kInvalid, fmt::format("unknown op \"{}\"", op.substr(0, 40)));
  } else {
    using Value = std::variant_alternative_t<kIndex, Variant>;
    if (op != kOp<Value>) return value_of<Variant, kIndex + 1>(op, object);
    Value value;
    Reader reader(object);
    fields(reader, value);
    if (!reader.problem().empty()) {
      return fail(ErrorCode::kInvalid, fmt::format("{}: {}", op, reader.problem()));
    }
    return Variant(std::move(value));
  }
}

struct Envelope {
  Json object;
  std::string op;
  std::optional<std::uint64_t> seq;
};

Result<Envelope> open_envelope(std::string_view text) {
  if (text.size() > kMaxPacketBytes) {
    return fail(ErrorCode::kTooBig,
                fmt::format("packet of {} bytes, the limit is {}", text.size(), kMaxPacketBytes));
  }
  if (shape_of_json(text, kMaxJsonDepth).depth > kMaxJsonDepth) {
    return fail(ErrorCode::kProtocol,
                fmt::format("packet of {} bytes nests deeper than {}", text.size(), kMaxJsonDepth));
  }
  Envelope envelope;
  envelope.object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!envelope.object.is_object()) {
    return fail(ErrorCode::kProtocol,
                fmt::format("packet of {} bytes is not a JSON object", text.size()));
  }
  const auto op = envelope.object.find("op");
  if (op == envelope.object.end() || !op->is_string()) {
    return fail(ErrorCode::kProtocol, fmt::format("packet of {} bytes has no op", text.size()));
  }
  envelope.op = *op->get_ptr<const std::string*>();
  const auto seq = envelope.object.find("seq");
  if (seq != envelope.object.end()) {
    if (!seq->is_number_unsigned()) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("the seq of a packet of {} bytes is not a number", text.size()));
    }
    envelope.seq = seq->get<std::uint64_t>();
  }
  return envelope;
}

}  // namespace

std::string build(const Request& request, std::uint64_t seq) {
  Json object = object_of(request);
  object["seq"] = seq;
  return text_of(object);
}

std::string build(const Answer& answer, std::uint64_t seq) {
  Json object = object_of(answer);
  object["seq"] = seq;
  return text_of(object);
}

std::string build(const AnnouncedValue& announcement) { return text_of(object_of(announcement)); }

Result<IncomingRequest> parse_request(std::string_view text) {
  auto envelope = open_envelope(text);
  if (!envelope) return tl::unexpected(std::move(envelope.error()));
  if (!envelope->seq) {
    return fail(ErrorCode::kProtocol, fmt::format("packet of {} bytes has no seq", text.size()));
  }
  return IncomingRequest{*envelope->seq, envelope->op,
                         value_of<Request>(envelope->op, envelope->object)};
}

Result<FromCoordinator> parse_from_coordinator(std::string_view text) {
  auto envelope = open_envelope(text);
  if (!envelope) return tl::unexpected(std::move(envelope.error()));
  const auto as_protocol = [](Error error) {
    error.code = ErrorCode::kProtocol;
    return tl::unexpected(std::move(error));
  };
  if (envelope->seq) {
    auto answer = value_of<Answer>(envelope->op, envelope->object);
    if (!answer) return as_protocol(std::move(answer.error()));
    return FromCoordinator(IncomingAnswer{*envelope->seq, std::move(*answer)});
  }
  auto announced = value_of<AnnouncedValue>(envelope->op, envelope->object);
  if (!announced) return as_protocol(std::move(announced.error()));
  return FromCoordinator(std::move(*announced));
}

ErrorCode error_code_from(std::string_view word) noexcept {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kClosed); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (to_string(code) == word) return code;
  }
  return ErrorCode::kProtocol;
}

}  // namespace beeline::control
