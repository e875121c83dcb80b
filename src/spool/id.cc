#include "src/spool/id.h"

#include <fmt/format.h>

#include "src/spool/utf8.h"

namespace beeline::spool {
namespace {

constexpr std::string_view kTaskEnd = ".json";
constexpr std::string_view kResultEnd = "_result.json";
constexpr std::string_view kErrorEnd = "_error.json";

std::string join(std::string_view id, std::string_view end) {
  std::string name;
  name.reserve(id.size() + end.size());
  return name.append(id).append(end);
}

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x20 || value == 0x7f;
}

}  // namespace

std::optional<std::string> why_no_id(std::string_view id) {
  if (id.empty()) return "it is empty";
  if (id.size() > kMostIdBytes) {
    return fmt::format("it has {} bytes, and at most {} fit", id.size(), kMostIdBytes);
  }
  if (id.front() == '.') return "it begins with a dot";
  for (const char byte : id) {
    if (byte == '/') return "it has a slash";
    if (is_control(byte)) {
      return fmt::format("it has the control character 0x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  if (!is_utf8(id)) return "it is no UTF-8";
  return std::nullopt;
}

std::string task_file(std::string_view id) { return join(id, kTaskEnd); }
std::string result_file(std::string_view id) { return join(id, kResultEnd); }
std::string error_file(std::string_view id) { return join(id, kErrorEnd); }

std::optional<std::string_view> id_in(Folder folder, std::string_view name) {
  std::string_view end = kTaskEnd;
  if (folder == Folder::kOutbox) end = kResultEnd;
  if (folder == Folder::kFailed) end = kErrorEnd;
  if (!name.ends_with(end)) return std::nullopt;
  const std::string_view id = name.substr(0, name.size() - end.size());
  if (why_no_id(id)) return std::nullopt;
  return id;
}

}  // namespace beeline::spool
