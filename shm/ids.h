#pragma once
// Strong ids: the numbers of different things have different types, so the compiler refuses a row
// where an entry belongs. An id costs as much as its number. The words in shared memory stay plain
// numbers: the accessor that reads a word makes the id.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace beeline::shm {

template <typename Tag, typename Rep>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  // The next one, for a walk through a table.
  constexpr Id& operator++() {
    ++value_;
    return *this;
  }
  // The one that comes so many later.
  [[nodiscard]] friend constexpr Id operator+(Id id, Rep more) {
    return Id(static_cast<Rep>(id.value_ + more));
  }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

// A place in the inbox table of a home.
using EntryIndex = Id<struct EntryTag, std::uint32_t>;
// A row in the table of a home: one for each in-link.
using RowIndex = Id<struct RowTag, std::uint16_t>;
// A slab of a link, numbered through all its classes.
using SlabIndex = Id<struct SlabTag, std::uint32_t>;
// A life of an agent, numbered by the coordinator from 1 through all agents of a hive.
using Incarnation = Id<struct IncarnationTag, std::uint64_t>;
inline constexpr Incarnation kNoIncarnation{};

}  // namespace beeline::shm

template <typename Tag, typename Rep>
struct std::hash<beeline::shm::Id<Tag, Rep>> {
  std::size_t operator()(beeline::shm::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>()(id.value());
  }
};
