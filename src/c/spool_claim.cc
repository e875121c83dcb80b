// Claimed tasks, and their ends.

#include <unistd.h>

#include <string>
#include <utility>

#include "src/c/spool_handle.h"
#include "src/c/spool_words.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

beeline_claim::beeline_claim(beeline_spool& spool, beeline::spool::Claim claimed)
    : Dependent(spool.dependents), claim(std::move(claimed)), process_(::getpid()) {}

beeline_claim::~beeline_claim() { end(); }

void beeline_claim::end() {
  if (claim.valid() && process_ == ::getpid()) (void)claim.retry({});
  claim.keep();
}

bool beeline_claim_is_held(const beeline_claim* claim) {
  return claim != nullptr && claim->claim.valid();
}

const char* beeline_claim_id(const beeline_claim* claim) {
  return claim == nullptr ? "" : claim->claim.task().id.c_str();
}

const char* beeline_claim_json(beeline_claim* claim) {
  if (claim == nullptr) return "";
  return guarded_or(__func__, "", [&] {
    claim->text = to_json(claim->claim.task());
    return claim->text.c_str();
  });
}

const char* beeline_claim_note(beeline_claim* claim, size_t* length) {
  if (length != nullptr) *length = claim == nullptr ? 0 : claim->claim.note().size();
  return claim == nullptr ? "" : claim->claim.note().c_str();
}

beeline_spool_code beeline_claim_write_note(beeline_claim* claim, const char* note, size_t length) {
  return spool_checked(__func__, {{"claim", claim}, bytes_argument("note", note, length)},
                       [&](const char*) {
                         return spool_outcome_of(claim->claim.write_note(text_of(note, length)));
                       });
}

beeline_spool_code beeline_claim_complete(beeline_claim* claim, const char* completion,
                                          size_t length) {
  return spool_checked(__func__, {{"claim", claim}}, [&](const char*) -> beeline_spool_code {
    beeline::spool::Completion result;
    if (completion != nullptr) {
      auto read = beeline::spool::read_completion(text_of(completion, length));
      if (!read) return spool_failed(std::move(read.error()));
      result = std::move(*read);
    }
    return spool_outcome_of(claim->claim.complete(std::move(result)));
  });
}

beeline_spool_code beeline_claim_fail(beeline_claim* claim, const char* error, size_t length) {
  return spool_checked(
      __func__, {{"claim", claim}, bytes_argument("error", error, length)},
      [&](const char*) { return spool_outcome_of(claim->claim.fail(text_of(error, length))); });
}

beeline_spool_code beeline_claim_retry(beeline_claim* claim, const char* error, size_t length,
                                       bool* waits) {
  return spool_checked(__func__, {{"claim", claim}, bytes_argument("error", error, length)},
                       [&](const char*) {
                         auto done = claim->claim.retry(text_of(error, length));
                         if (waits != nullptr) *waits = done.value_or(false);
                         return spool_outcome_of(std::move(done));
                       });
}

beeline_spool_code beeline_claim_heartbeat(beeline_claim* claim) {
  return spool_checked(__func__, {{"claim", claim}},
                       [&](const char*) { return spool_outcome_of(claim->claim.heartbeat()); });
}

void beeline_claim_keep(beeline_claim* claim) {
  if (claim != nullptr) claim->claim.keep();
}

void beeline_claim_free(beeline_claim* claim) { delete claim; }
