#include "src/spool/claimant.h"

#include <sys/stat.h>

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/os/text_file.h"

namespace beeline::spool {
namespace {

using Json = nlohmann::ordered_json;

// The word of a file of the system; empty if it cannot be read.
std::string read_word(const std::string& path) {
  std::string text = os::read_text_file(path);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

template <typename Number>
Number number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<Number>() : Number{};
}

}  // namespace

Host Host::read() {
  Host host{read_word("/etc/machine-id"), read_word("/proc/sys/kernel/random/boot_id"), {}};
  struct stat found {};
  if (::stat("/proc/self/ns/pid", &found) == 0) host.pidns = fmt::format("{}", found.st_ino);
  return host;
}

std::string Host::tag() const {
  std::uint32_t hash = 2166136261U;  // FNV-1a: the same in every build
  for (const std::string_view part : {std::string_view(boot), std::string_view(pidns)}) {
    for (const char byte : part) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
    }
  }
  return fmt::format("{:08x}", hash);
}

std::optional<ProcessLife> ProcessLife::of(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string stat = os::read_text_file(fmt::format("/proc/{}/stat", pid));
  // The name of the program stands in parentheses and may hold any bytes. The state follows it.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  std::string_view rest = std::string_view(stat).substr(name_end + 2);
  if (rest.front() == 'Z' || rest.front() == 'X') return std::nullopt;
  constexpr int kFieldsBeforeStart = 19;
  for (int field = 0; field < kFieldsBeforeStart; ++field) {
    const auto blank = rest.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(blank + 1);
  }
  ProcessLife life{pid, 0};
  std::from_chars(rest.data(), rest.data() + rest.size(), life.start);
  return life;
}

bool ProcessLife::goes_on() const { return of(pid) == *this; }

std::string Claimant::json() const {
  std::string text =
      fmt::format(R"({{"machine":"{}","boot":"{}","pidns":"{}","pid":{},"start":{},"made_ns":{})",
                  host.machine, host.boot, host.pidns, process.pid, process.start, made_ns);
  if (!note.empty()) {
    text += R"(,"note":)" + Json(note).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  text += '}';
  return text;
}

std::optional<Claimant> Claimant::parse(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  return Claimant{{text_in(object, "machine"), text_in(object, "boot"), text_in(object, "pidns")},
                  {number_in<pid_t>(object, "pid"), number_in<std::uint64_t>(object, "start")},
                  text_in(object, "note"),
                  number_in<std::int64_t>(object, "made_ns")};
}

Life Claimant::life(const Host& here) const {
  if (host.boot.empty() || here.boot.empty()) return Life::kUnknown;
  if (host.boot != here.boot) {
    const bool is_this_machine = !host.machine.empty() && host.machine == here.machine;
    return is_this_machine && process.pid > 0 ? Life::kGone : Life::kUnknown;
  }
  if (process.pid <= 0 || host.pidns.empty() || host.pidns != here.pidns) return Life::kUnknown;
  return process.goes_on() ? Life::kAlive : Life::kGone;
}

}  // namespace beeline::spool
