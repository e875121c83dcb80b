#include "tests/killpoints/c_library.h"

#include <link.h>

#include <string_view>

namespace beeline::killpoints {
namespace {

// The address range of its code in this process.
struct Code {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
};

int look_at(dl_phdr_info* object, std::size_t /*bytes*/, void* found) {
  if (std::string_view(object->dlpi_name).find("/libc.so") == std::string_view::npos) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const std::uintptr_t first = object->dlpi_addr + part.p_vaddr;
    *static_cast<Code*>(found) = {first, first + part.p_memsz};
  }
  return 0;
}

const Code kCode = [] {
  Code code;
  ::dl_iterate_phdr(look_at, &code);
  return code;
}();

}  // namespace

bool is_c_library(std::uintptr_t at) { return at >= kCode.first && at < kCode.end; }

}  // namespace beeline::killpoints
