// Task folders.

#include <iterator>
#include <string>
#include <utility>

#include "src/c/spool_handle.h"
#include "src/c/spool_words.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

namespace {

beeline_spool_code hand_over(beeline_spool& spool,
                             beeline::spool::Outcome<beeline::spool::Claim> claimed,
                             beeline_claim** claim) {
  if (!claimed) return spool_failed(std::move(claimed.error()));
  *claim = new beeline_claim(spool, std::move(*claimed));
  return BEELINE_SPOOL_OK;
}

template <typename Value>
beeline_spool_code give_json(beeline_spool& spool, beeline::spool::Outcome<Value> value,
                             const char** text) {
  if (!value) return spool_failed(std::move(value.error()));
  spool.text = json_of(*value);
  *text = spool.text.c_str();
  return BEELINE_SPOOL_OK;
}

// The frame of a call that gives a JSON text.
template <typename Call>
beeline_spool_code text_call(const char* function, beeline_spool* spool, const char** text,
                             const Call& call) {
  return spool_checked(function, {{"spool", spool}, {"text", text}}, [&](const char* name) {
    *text = nullptr;
    return call(name);
  });
}

}  // namespace

beeline_spool_code beeline_spool_open(const beeline_spool_options* options, beeline_spool** spool) {
  return spool_checked(__func__, {{"spool", spool}},
                       [&](const char* function) -> beeline_spool_code {
                         *spool = nullptr;
                         beeline::spool::Options wanted;
                         const beeline_code read = read_options(function, options, wanted);
                         if (read != BEELINE_OK) return spool_code_of(read);
                         auto opened = beeline::spool::Spool::open(wanted);
                         if (!opened) return spool_failed(std::move(opened.error()));
                         *spool = new beeline_spool(std::move(*opened));
                         return BEELINE_SPOOL_OK;
                       });
}

void beeline_spool_close(beeline_spool* spool) { delete spool; }

beeline_spool_code beeline_spool_describe(beeline_spool* spool, const char** text) {
  return text_call(__func__, spool, text, [&](const char*) {
    return give_json<beeline::spool::Options>(*spool, spool->spool.options(), text);
  });
}

beeline_spool_code beeline_spool_put(beeline_spool* spool, const char* task, size_t length,
                                     const char** id) {
  return spool_checked(__func__, {{"spool", spool}, {"task", task}},
                       [&](const char*) -> beeline_spool_code {
                         if (id != nullptr) *id = nullptr;
                         auto read = beeline::spool::read_task(text_of(task, length));
                         if (!read) return spool_failed(std::move(read.error()));
                         auto put = spool->spool.put(std::move(*read));
                         if (!put) return spool_failed(std::move(put.error()));
                         spool->text = std::move(*put);
                         if (id != nullptr) *id = spool->text.c_str();
                         return BEELINE_SPOOL_OK;
                       });
}

beeline_spool_code beeline_spool_claim(beeline_spool* spool, int64_t timeout_ns,
                                       beeline_claim** claim) {
  return spool_checked(__func__, {{"spool", spool}, {"claim", claim}}, [&](const char*) {
    *claim = nullptr;
    return hand_over(
        *spool,
        timeout_ns <= 0 ? spool->spool.try_claim() : spool->spool.claim(deadline_of(timeout_ns)),
        claim);
  });
}

beeline_spool_code beeline_spool_held(beeline_spool* spool, const char* id, size_t length,
                                      beeline_claim** claim) {
  return spool_checked(__func__, {{"spool", spool}, {"id", id}, {"claim", claim}},
                       [&](const char*) {
                         *claim = nullptr;
                         return hand_over(*spool, spool->spool.held(text_of(id, length)), claim);
                       });
}

beeline_spool_code beeline_spool_take_over(beeline_spool* spool, const char** text) {
  return text_call(__func__, spool, text, [&](const char*) -> beeline_spool_code {
    auto claims = spool->spool.take_over();
    if (!claims) return spool_failed(std::move(claims.error()));
    for (beeline::spool::Claim& claim : *claims) claim.keep();
    std::vector<std::string> ids;
    for (const beeline::spool::Claim& claim : *claims) ids.push_back(claim.task().id);
    return give_json<std::vector<std::string>>(*spool, std::move(ids), text);
  });
}

beeline_spool_code beeline_spool_list(beeline_spool* spool, int32_t folder, const char** text) {
  return text_call(__func__, spool, text, [&](const char* function) -> beeline_spool_code {
    if (folder < BEELINE_FOLDER_INBOX || folder > BEELINE_FOLDER_FAILED) {
      return spool_code_of(
          invalid(function, {"`folder` is ", std::to_string(folder),
                             ", it must be from BEELINE_FOLDER_INBOX to BEELINE_FOLDER_FAILED"}));
    }
    return give_json(*spool, spool->spool.list(static_cast<beeline::spool::Folder>(folder)), text);
  });
}

beeline_spool_code beeline_spool_find(beeline_spool* spool, const char* id, size_t length,
                                      const char** text) {
  return spool_checked(__func__, {{"spool", spool}, {"id", id}, {"text", text}}, [&](const char*) {
    *text = nullptr;
    return give_json(*spool, spool->spool.find(text_of(id, length)), text);
  });
}

beeline_spool_code beeline_spool_sweep(beeline_spool* spool, const char** text) {
  return text_call(__func__, spool, text,
                   [&](const char*) { return give_json(*spool, spool->spool.sweep(), text); });
}

int beeline_spool_fd(beeline_spool* spool) { return spool == nullptr ? -1 : spool->spool.fd(); }

const char* beeline_spool_next_remark(beeline_spool* spool) {
  if (spool == nullptr) return nullptr;
  return guarded_or<const char*>(__func__, nullptr, [&]() -> const char* {
    if (spool->remarks.empty()) {
      auto taken = spool->spool.take_remarks();
      spool->remarks.assign(std::make_move_iterator(taken.begin()),
                            std::make_move_iterator(taken.end()));
    }
    if (spool->remarks.empty()) return nullptr;
    spool->remark = std::move(spool->remarks.front());
    spool->remarks.pop_front();
    return spool->remark.c_str();
  });
}
