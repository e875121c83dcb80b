#include <string>
#include <utility>

#include <beeline/c/spool.h>
#include <beeline/spool.h>

#include "src/c/spool_words.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

struct beeline_spool_watch {
  beeline::spool::Watch watch;
  std::string id{};  // of the last change
};

beeline_spool_code beeline_spool_watch_open(const beeline_spool_options* options,
                                            beeline_spool_watch** watch) {
  return spool_checked(__func__, {{"watch", watch}},
                       [&](const char* function) -> beeline_spool_code {
                         *watch = nullptr;
                         beeline::spool::Options wanted;
                         const beeline_code read = read_options(function, options, wanted);
                         if (read != BEELINE_OK) return spool_code_of(read);
                         auto opened = beeline::spool::Watch::open(wanted);
                         if (!opened) return spool_failed(std::move(opened.error()));
                         *watch = new beeline_spool_watch{std::move(*opened)};
                         return BEELINE_SPOOL_OK;
                       });
}

int beeline_spool_watch_fd(const beeline_spool_watch* watch) {
  return watch == nullptr ? -1 : watch->watch.fd();
}

bool beeline_spool_watch_next(beeline_spool_watch* watch, beeline_spool_change* change) {
  if (watch == nullptr || change == nullptr) return false;
  return guarded_or(__func__, false, [&] {
    auto next = watch->watch.next();
    if (!next) return false;
    watch->id = std::move(next->id);
    *change = {watch->id.c_str(), static_cast<int32_t>(next->folder), next->came};
    return true;
  });
}

void beeline_spool_watch_free(beeline_spool_watch* watch) { delete watch; }
