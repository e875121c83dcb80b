#pragma once
// Checks of our own code. A failed check prints where it stands, its condition and the values that
// were handed to it, and aborts the process: a bug that goes on would spoil the memory of others.
//
//   BEELINE_CHECK(condition, value...)   always compiled: one branch that is never taken
//   BEELINE_DCHECK(condition, value...)  compiled into debug builds, for the path of each message
//
// Never check bytes that a peer can write: a reader verifies those, and reports or refuses them.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace beeline::shm {

// A number, an enumerator, a strong id, a truth value or an address, as a failed check prints it.
class CheckedValue {
 public:
  template <typename T>
  CheckedValue(T value) {  // NOLINT(google-explicit-constructor): each value converts by itself
    if constexpr (std::is_pointer_v<T>) {
      magnitude_ = reinterpret_cast<std::uintptr_t>(value);
      form_ = Form::kAddress;
    } else if constexpr (std::is_enum_v<T>) {
      *this = CheckedValue(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_class_v<T>) {
      *this = CheckedValue(value.value());
    } else if constexpr (std::is_floating_point_v<T>) {
      real_ = static_cast<double>(value);
      form_ = Form::kReal;
    } else {
      static_assert(std::is_integral_v<T>);
      form_ = value < T{} ? Form::kNegative : Form::kNatural;
      magnitude_ = static_cast<std::uint64_t>(value);
    }
  }

  // The value as text in `to`; returns its length without the zero behind it.
  int print(char* to, std::size_t room) const {
    switch (form_) {
      case Form::kReal:
        return std::snprintf(to, room, "%g", real_);
      case Form::kAddress:
        return std::snprintf(to, room, "%#llx", static_cast<unsigned long long>(magnitude_));
      case Form::kNegative:
        return std::snprintf(to, room, "%lld", static_cast<long long>(magnitude_));
      case Form::kNatural:
        break;
    }
    return std::snprintf(to, room, "%llu", static_cast<unsigned long long>(magnitude_));
  }

 private:
  enum class Form : std::uint8_t { kNatural, kNegative, kReal, kAddress };

  std::uint64_t magnitude_ = 0;
  double real_ = 0;
  Form form_ = Form::kNatural;
};

// `file` as it is named from the root of the sources, where the compiler was given a longer path.
[[nodiscard]] inline const char* from_source_root(const char* file) {
  constexpr std::size_t kRootLength = sizeof(__FILE__) - sizeof("shm/check.h");
  return std::strncmp(file, __FILE__, kRootLength) == 0 ? file + kRootLength : file;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_check(
    const char* file, int line, const char* condition, const char* names,
    std::initializer_list<CheckedValue> values) {
  constexpr std::size_t kMaxText = 512;
  char text[kMaxText] = "";
  std::size_t used = 0;
  for (const CheckedValue& value : values) {
    if (used + 3 >= kMaxText) break;
    if (used != 0) text[used++] = ' ';
    const int length = value.print(text + used, kMaxText - used);
    used = used + static_cast<std::size_t>(length) < kMaxText ? used + length : kMaxText - 1;
  }
  // One call, so that the lines of two processes do not mix.
  std::fprintf(stderr, "beeline: %s:%d: check failed: %s%s%s%s%s\n", from_source_root(file), line,
               condition, used == 0 ? "" : "; ", names, used == 0 ? "" : ": ", text);
  std::abort();
}

}  // namespace beeline::shm

// `condition` stands in parentheses where it holds a comma of its own.
#define BEELINE_CHECK(condition, ...)                                                \
  (__builtin_expect(static_cast<bool>(condition), 1)                                 \
       ? (void)0                                                                     \
       : ::beeline::shm::fail_check(__FILE__, __LINE__, #condition, "" #__VA_ARGS__, \
                                    {__VA_ARGS__}))

// The explorer of interleavings counts each access to an atomic, and would count those of checks.
#if defined(NDEBUG) || defined(BEELINE_EXPLORER)
#define BEELINE_DCHECK(...) (true ? (void)0 : BEELINE_CHECK(__VA_ARGS__))
#else
#define BEELINE_DCHECK(...) BEELINE_CHECK(__VA_ARGS__)
#endif
