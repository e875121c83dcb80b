#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include <beeline/c/agent.h>
#include <beeline/c/types.h>
#include <beeline/types.h>

#include "src/c/failure.h"

namespace beeline::c {

// The sizes of the structs in the first version of this interface. No caller has smaller ones.
inline constexpr std::size_t kFirstAttachOptions = 144;
inline constexpr std::size_t kFirstSendOptions = 104;
inline constexpr std::size_t kFirstFilter = 56;
inline constexpr std::size_t kFirstWork = 104;
inline constexpr std::size_t kFirstOutcome = 64;
inline constexpr std::size_t kFirstMessageInfo = 176;
inline constexpr std::size_t kFirstReadiness = 88;
inline constexpr std::size_t kFirstCounters = 120;

// BEELINE_INVALID: the caller cannot have a struct of this size.
beeline_code check_size(const char* function, const char* argument, std::size_t size,
                        std::size_t first);
// BEELINE_INVALID: the caller asks for something that this library does not know.
beeline_code refuse_unknown(const char* function, const char* argument, std::size_t size,
                            std::size_t known);

// Reads a struct of any version: fields beyond its size get their default, and bytes beyond ours
// must be zero, because they ask for something that this library cannot do. Null is all defaults.
template <typename Options>
beeline_code read_sized(const char* function, const char* argument, const Options* given,
                        std::size_t first, void (*set_defaults)(Options*), Options& options) {
  set_defaults(&options);
  if (given == nullptr) return BEELINE_OK;
  const beeline_code sized = check_size(function, argument, given->size, first);
  if (sized != BEELINE_OK) return sized;
  const char* const bytes = reinterpret_cast<const char*>(given);
  const char* const end = bytes + given->size;
  if (given->size > sizeof options &&
      std::any_of(bytes + sizeof options, end, [](char byte) { return byte != 0; })) {
    return refuse_unknown(function, argument, given->size, sizeof options);
  }
  std::memcpy(static_cast<void*>(&options), bytes, std::min(given->size, sizeof options));
  options.size = sizeof options;
  return BEELINE_OK;
}

// Fills a struct of any version; `size` stays.
template <typename Results>
beeline_code write_sized(const char* function, const char* argument, Results* wanted,
                         std::size_t first, Results& results) {
  const beeline_code sized = check_size(function, argument, wanted->size, first);
  if (sized != BEELINE_OK) return sized;
  results.size = wanted->size;
  char* const bytes = reinterpret_cast<char*>(wanted);
  if (results.size > sizeof results) {
    std::memset(bytes + sizeof results, 0, results.size - sizeof results);
  }
  std::memcpy(bytes, &results, std::min(results.size, sizeof results));
  return BEELINE_OK;
}

// The same options for the C++ library. They refer to the texts of the caller.
beeline_code read_options(const char* function, const beeline_send_options* given,
                          SendOptions& options);
beeline_code read_options(const char* function, const beeline_filter* given, Filter& filter);
beeline_code read_options(const char* function, const beeline_attach_options* given,
                          AttachOptions& options);

}  // namespace beeline::c
