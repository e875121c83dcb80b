// Words that need no agent.

#include <beeline/c/types.h>

#include <string>

#include <beeline/types.h>
#include <beeline/version.h>

#include "src/c/arguments.h"

const char* beeline_version() { return beeline::kVersion.data(); }

size_t beeline_id_text(beeline_id id, char text[BEELINE_ID_TEXT_SIZE]) {
  if (text == nullptr) return 0;
  text[0] = '\0';
  return beeline::c::guarded_or(__func__, std::size_t{0}, [&] {
    const std::string words = beeline::id_text(id);
    const std::size_t length = words.copy(text, BEELINE_ID_TEXT_SIZE - 1);
    text[length] = '\0';
    return length;
  });
}

beeline_id beeline_parse_id(const char* text, size_t length) {
  return beeline::parse_id(beeline::c::text_of(text, length)).value_or(0);
}
