#include "src/c/spawn_words.h"

#include <chrono>
#include <string>

#include "src/c/arguments.h"
#include "src/c/options.h"

namespace beeline::c {

namespace {

constexpr std::size_t kFirstSpawnOptions = 176;
static_assert(kFirstSpawnOptions <= sizeof(beeline_spawn_options));

void take_text(const char* given, std::string& to) {
  if (given != nullptr) to = given;
}

std::chrono::milliseconds time_of(std::int64_t ns) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(ns));
}

beeline_code refuse_list(const char* function, const char* field, std::size_t at) {
  return invalid(function, {"`options->", field, "` has a null pointer at ", std::to_string(at),
                            ": give each text of the list, or a shorter list"});
}

beeline_code read_command(const char* function, const beeline_spawn_options& given,
                          SpawnOptions& options) {
  for (std::size_t i = 0; i < given.command_count; ++i) {
    if (given.command == nullptr || given.command[i] == nullptr) {
      return refuse_list(function, "command", i);
    }
    options.command.emplace_back(given.command[i]);
  }
  return BEELINE_OK;
}

beeline_code read_environment(const char* function, const beeline_spawn_options& given,
                              SpawnOptions& options) {
  const auto is_missing = [](beeline_bytes bytes) {
    return bytes.data == nullptr && bytes.length != 0;
  };
  for (std::size_t i = 0; i < given.environment_count; ++i) {
    const beeline_pair* const pair = given.environment == nullptr ? nullptr : given.environment + i;
    if (pair == nullptr || is_missing(pair->key) || is_missing(pair->value)) {
      return refuse_list(function, "environment", i);
    }
    const auto text = [](beeline_bytes bytes) {
      return std::string(text_of(static_cast<const char*>(bytes.data), bytes.length));
    };
    options.environment.insert_or_assign(text(pair->key), text(pair->value));
  }
  return BEELINE_OK;
}

}  // namespace

beeline_code read_options(const char* function, const beeline_spawn_options* given,
                          SpawnOptions& options) {
  beeline_spawn_options known;
  const beeline_code read =
      read_sized(function, "options", given, kFirstSpawnOptions, beeline_spawn_options_init, known);
  if (read != BEELINE_OK) return read;
  take_text(known.name, options.name);
  take_text(known.parent, options.parent);
  take_text(known.role, options.role);
  take_text(known.tier, options.tier);
  take_text(known.model, options.model);
  take_text(known.directory, options.directory);
  take_text(known.restart, options.restart);
  take_text(known.key, options.key);
  options.ready_within = time_of(known.ready_within_ns);
  options.grace = time_of(known.grace_ns);
  options.limits = {.memory_bytes = known.memory_bytes,
                    .cpu_seconds = known.cpu_seconds,
                    .open_files = known.open_files,
                    .processes = known.processes,
                    .max_children = known.max_children,
                    .output_bytes = known.output_bytes};
  if (known.sets_uid) options.uid = known.uid;
  const beeline_code command = read_command(function, known, options);
  return command != BEELINE_OK ? command : read_environment(function, known, options);
}

}  // namespace beeline::c
