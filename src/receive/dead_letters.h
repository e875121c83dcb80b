#pragma once
// Which dead letters, and which answers that nobody waits for, go first when there are too many.

#include <cstdint>
#include <span>
#include <vector>

#include "shm/home.h"

namespace beeline::receive {

// How many dead letters are kept: they must not fill a small table.
[[nodiscard]] std::uint32_t most_letters(const shm::Home& home);

// The one of these letters, oldest first, that goes first; kNoEntry if there is none. Answers that
// nobody has claimed go before letters that meant something. Among those the sender that has left
// the most loses its oldest: no sender pushes out the letters of others by sending more.
[[nodiscard]] shm::EntryIndex first_letter_to_go(const shm::Home& home,
                                                 std::span<const shm::EntryIndex> letters);

// How many slabs of a class dead letters and stashed answers may hold: half of them, so that the
// rest is for the sender to go on with.
[[nodiscard]] std::size_t most_slabs_kept(std::size_t slabs_of_class);

// The entries of `kept`, letters and stashed answers in slabs, that go so that at most `most` stay.
// The newest, which was just put there, stays.
[[nodiscard]] std::vector<shm::EntryIndex> surplus_of(const shm::Home& home,
                                                      std::vector<shm::EntryIndex> kept,
                                                      std::size_t most, shm::EntryIndex newest);

}  // namespace beeline::receive
