#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <beeline/result.h>

#include "shm/link.h"
#include "src/control/tree.h"
#include "src/os/mapping.h"

namespace beeline::control {

// The coordinator's checks of descriptors that agents hand in, before it passes them on. It reads
// with pread, so that an agent cannot make it fault by changing its segment. Errors of all:
// kBadSegment, naming the promised and the found value; kWrongVersion, naming both layouts;
// kSystem.

// A home of this agent and life; it need not be ready.
[[nodiscard]] Result<void> check_home(int fd, Pid pid, shm::Incarnation incarnation);

// A link of `owner` for `reader` with this contract.
[[nodiscard]] Result<void> check_link(int fd, const shm::LinkContract& contract, Pid owner,
                                      Pid reader, const shm::LinkKey& key);

// A status page; returns it mapped read-only.
[[nodiscard]] Result<os::Mapping> map_status(int fd, Pid pid, shm::Incarnation incarnation);

// A history of this agent and life.
[[nodiscard]] Result<void> check_history(int fd, Pid pid, shm::Incarnation incarnation);

// Reads exactly `bytes` at `offset`; false if there is less. Holes read as zero.
[[nodiscard]] bool read_whole(int fd, std::uint64_t offset, std::span<std::byte> bytes);

// As read_whole().
using ReadWhole = std::function<bool(int, std::uint64_t, std::span<std::byte>)>;

// Inbox capacity according to the home's control; 0 if it is not a legal one.
[[nodiscard]] std::uint32_t home_capacity(int fd, const ReadWhole& read = read_whole);

}  // namespace beeline::control
