#include "src/control/records.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace beeline::control {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kHistoryPrefix = "history/";

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Reads fields of a record and remembers if one was missing.
class Fields {
 public:
  explicit Fields(std::string_view text)
      : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)), good_(json_.is_object()) {}

  template <typename T>
  T number(const char* name) {
    const Json* field = find(name);
    if (field == nullptr || !field->is_number_integer()) {
      good_ = false;
      return {};
    }
    return field->get<T>();
  }
  shm::Incarnation incarnation(const char* name) {
    return shm::Incarnation(number<std::uint64_t>(name));
  }
  std::vector<shm::Incarnation> incarnations(const char* name) {
    const Json* field = find(name);
    const auto is_number = [](const Json& each) { return each.is_number_unsigned(); };
    if (field == nullptr || !field->is_array() ||
        !std::all_of(field->begin(), field->end(), is_number)) {
      good_ = false;
      return {};
    }
    std::vector<shm::Incarnation> result;
    for (const Json& each : *field) result.emplace_back(each.get<std::uint64_t>());
    return result;
  }
  bool flag(const char* name) {
    const Json* field = find(name);
    if (field == nullptr || !field->is_boolean()) {
      good_ = false;
      return false;
    }
    return field->get<bool>();
  }
  std::string text(const char* name) {
    const Json* field = find(name);
    if (field == nullptr || !field->is_string()) {
      good_ = false;
      return {};
    }
    return *field->get_ptr<const std::string*>();
  }
  // Empty if there is none: an earlier version wrote the record.
  std::string new_text(const char* name) {
    return find(name) == nullptr ? std::string() : text(name);
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const Json* find(const char* name) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  Json json_;
  bool good_;
};

std::vector<std::uint64_t> numbers_of(const std::vector<shm::Incarnation>& lives) {
  std::vector<std::uint64_t> result;
  for (const shm::Incarnation life : lives) result.push_back(life.value());
  return result;
}

tl::unexpected<Error> broken(std::string_view kind, std::string_view text) {
  return fail(ErrorCode::kProtocol,
              fmt::format("the keeper holds a {} record that cannot be read: {}", kind, text));
}

}  // namespace

std::string agent_key(Pid pid, shm::Incarnation incarnation) {
  return fmt::format("agent/{}/{}", pid, incarnation.value());
}

std::string link_key(const shm::LinkKey& key) {
  return fmt::format("link/{}/{}", key.incarnation.value(), key.serial);
}

std::string history_key(Pid pid, shm::Incarnation incarnation) {
  return fmt::format("{}{}/{}", kHistoryPrefix, pid, incarnation.value());
}

std::optional<std::pair<Pid, shm::Incarnation>> parse_history_key(std::string_view key) {
  if (!key.starts_with(kHistoryPrefix)) return std::nullopt;
  key.remove_prefix(kHistoryPrefix.size());
  std::pair<Pid, shm::Incarnation> life;
  const char* const end = key.data() + key.size();
  const auto pid = std::from_chars(key.data(), end, life.first);
  if (pid.ec != std::errc() || pid.ptr == end || *pid.ptr != '/') return std::nullopt;
  std::uint64_t number = 0;
  const auto incarnation = std::from_chars(pid.ptr + 1, end, number);
  if (incarnation.ec != std::errc() || incarnation.ptr != end) return std::nullopt;
  life.second = shm::Incarnation(number);
  return life;
}

std::string bell_key(const BellKey& key) {
  return fmt::format("bell/{}/{}", key.ringer.value(), key.rung.value());
}

std::string build(const LifeRecord& record) {
  return text_of(Json{{"pid", record.pid},
                      {"incarnation", record.incarnation.value()},
                      {"parent", record.parent},
                      {"name", record.name},
                      {"role", std::string(to_string(record.role))},
                      {"uid", record.uid},
                      {"life_uid", record.life_uid},
                      {"temporary", record.temporary},
                      {"life_temporary", record.life_temporary},
                      {"index", record.index},
                      {"attached_ns", record.attached_ns},
                      {"restarts", record.restarts},
                      {"os_pid", record.os_pid},
                      {"ready", record.ready},
                      {"ended", record.ended},
                      {"lost", record.lost},
                      {"dead", record.dead},
                      {"taken_over", record.taken_over},
                      {"purged", record.purged},
                      {"letters_then", record.letters_then},
                      {"untold_ends", numbers_of(record.untold_ends)},
                      {"ticket", record.ticket}});
}

std::string build(const LinkRecord& record) {
  return text_of(Json{{"incarnation", record.key.incarnation.value()},
                      {"serial", record.key.serial},
                      {"owner", record.owner},
                      {"reader", record.reader},
                      {"normal_slots", record.contract.normal_slots},
                      {"urgent_slots", record.contract.urgent_slots},
                      {"max_payload_bytes", record.contract.max_payload_bytes},
                      {"may_send", record.may_send},
                      {"faded", record.faded},
                      {"left_empty", record.left_empty},
                      {"released", record.released},
                      {"opened_ns", record.opened_ns},
                      {"ended", record.ended}});
}

std::string build(const BellKey& record) {
  return text_of(Json{{"ringer", record.ringer.value()}, {"rung", record.rung.value()}});
}

std::string build_number(std::uint64_t number) { return text_of(Json{{"number", number}}); }

Result<LifeRecord> parse_life(std::string_view text) {
  Fields fields(text);
  LifeRecord record;
  record.pid = fields.number<Pid>("pid");
  record.incarnation = fields.incarnation("incarnation");
  record.parent = fields.number<Pid>("parent");
  record.name = fields.text("name");
  const auto role = role_from(fields.text("role"));
  record.role = role.value_or(Role::kAgent);
  record.uid = fields.number<uid_t>("uid");
  record.life_uid = fields.number<uid_t>("life_uid");
  record.temporary = fields.flag("temporary");
  record.life_temporary = fields.flag("life_temporary");
  record.index = fields.number<std::uint32_t>("index");
  record.attached_ns = fields.number<std::uint64_t>("attached_ns");
  record.restarts = fields.number<std::uint64_t>("restarts");
  record.os_pid = fields.number<std::int32_t>("os_pid");
  record.ready = fields.flag("ready");
  record.ended = fields.flag("ended");
  record.lost = fields.flag("lost");
  record.dead = fields.flag("dead");
  record.taken_over = fields.flag("taken_over");
  record.purged = fields.flag("purged");
  record.letters_then = fields.number<std::uint64_t>("letters_then");
  record.untold_ends = fields.incarnations("untold_ends");
  record.ticket = fields.new_text("ticket");
  if (!fields.good() || !role) return broken("life", text);
  return record;
}

Result<LinkRecord> parse_link(std::string_view text) {
  Fields fields(text);
  LinkRecord record;
  record.key.incarnation = fields.incarnation("incarnation");
  record.key.serial = fields.number<std::uint32_t>("serial");
  record.owner = fields.number<Pid>("owner");
  record.reader = fields.number<Pid>("reader");
  record.contract.normal_slots = fields.number<std::uint32_t>("normal_slots");
  record.contract.urgent_slots = fields.number<std::uint32_t>("urgent_slots");
  record.contract.max_payload_bytes = fields.number<std::uint64_t>("max_payload_bytes");
  record.may_send = fields.flag("may_send");
  record.faded = fields.flag("faded");
  record.left_empty = fields.flag("left_empty");
  record.released = fields.flag("released");
  record.opened_ns = fields.number<std::int64_t>("opened_ns");
  record.ended = fields.flag("ended");
  if (!fields.good()) return broken("link", text);
  return record;
}

Result<BellKey> parse_bell(std::string_view text) {
  Fields fields(text);
  BellKey record;
  record.ringer = fields.incarnation("ringer");
  record.rung = fields.incarnation("rung");
  if (!fields.good()) return broken("bell", text);
  return record;
}

std::uint64_t kept_number(const KeptTable& table, std::string_view key) {
  const auto found = table.find(std::string(key));
  if (found == table.end()) return 0;
  Fields fields(found->second.value);
  return fields.number<std::uint64_t>("number");
}

}  // namespace beeline::control
