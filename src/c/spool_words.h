#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <beeline/c/spool.h>
#include <beeline/spool.h>

#include "src/c/arguments.h"

namespace beeline::c {

beeline_spool_code spool_failed(spool::Failure failure);
// The same result as a code of the task folder.
[[nodiscard]] beeline_spool_code spool_code_of(beeline_code code);
// For the end of a call: a result without a value.
template <typename T>
beeline_spool_code spool_outcome_of(spool::Outcome<T>&& outcome) {
  return outcome ? BEELINE_SPOOL_OK : spool_failed(std::move(outcome.error()));
}

// checked() for a call that returns a code of the task folder.
template <typename Call>
beeline_spool_code spool_checked(const char* function, std::initializer_list<Argument> needed,
                                 const Call& call) {
  beeline_spool_code code = BEELINE_SPOOL_OK;
  const beeline_code outer = checked(function, needed, [&](const char* name) {
    code = call(name);
    return BEELINE_OK;
  });
  return outer == BEELINE_OK ? code : spool_code_of(outer);
}

// BEELINE_INVALID: a size, or a number that is none of its list.
beeline_code read_options(const char* function, const beeline_spool_options* given,
                          spool::Options& options);

// JSON texts. Each record in them is indented as in its file.
[[nodiscard]] std::string json_of(const spool::Options& options);
[[nodiscard]] std::string json_of(const std::vector<std::string>& ids);
[[nodiscard]] std::string json_of(const spool::Listed& listed);
[[nodiscard]] std::string json_of(const std::vector<spool::Listed>& files);
[[nodiscard]] std::string json_of(const spool::Swept& swept);

}  // namespace beeline::c
