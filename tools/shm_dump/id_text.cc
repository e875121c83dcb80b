#include "tools/shm_dump/id_text.h"

#include <fmt/format.h>

#include "shm/identity.h"

namespace beeline::dump {

std::string id_text(std::uint64_t id) {
  if (id == 0) return {};
  return fmt::format("{}:{}", shm::pid_of_message(id), shm::counter_of_message(id));
}

}  // namespace beeline::dump
