#pragma once
// Roles: named functions that a test runs as threads of its own process or as processes of their
// own. A test program with roles starts itself again with `--role NAME`.

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/shared_memory.h"

namespace beeline::test {

struct RoleContext {
  const SharedMemory& memory;
  std::uint32_t number = 0;  // among several players of the role

  template <typename T>
  [[nodiscard]] T& board() const {
    return memory.as<T>();
  }
};

// Uses EXPECT_ and ASSERT_ as a test does; in a process a failure shows in the exit status.
using RoleFunction = void (*)(const RoleContext&);

// Null if there is no role of that name.
[[nodiscard]] RoleFunction find_role(std::string_view name);

struct RoleRegistration {
  RoleRegistration(const char* name, RoleFunction function);
};

inline constexpr int kExitFailed = 1;

// BEELINE_ROLE(echo) { ... context.board<Board>() ... }
#define BEELINE_ROLE(name)                                                     \
  void role_##name(const beeline::test::RoleContext& context);                 \
  const beeline::test::RoleRegistration kRegister_##name(#name, &role_##name); \
  void role_##name([[maybe_unused]] const beeline::test::RoleContext& context)

// The arguments for starting the test program again; appended to its path.
struct RoleCommand {
  std::string role;
  std::uint32_t number = 0;
  int board_fd = -1;
  std::size_t board_bytes = 0;
};
[[nodiscard]] std::string to_argument(const RoleCommand& command);

}  // namespace beeline::test
