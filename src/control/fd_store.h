#pragma once

// The table of a keeper, kept once more by the service manager (FDSTORE of sd_notify(3)): a keeper
// that was killed is started again with it, and no inbox is lost.
//
// Each descriptor of a record is stored under the name KEY.GENERATION.INDEX. Keys and
// values have no descriptor. They lie in a journal in one more descriptor, store.NUMBER:
//
//   8 bytes   how many bytes of entries count; stored last, so an entry counts whole or not at all
//   entries   4 bytes of length, then
//             since MICROSECONDS            when the hive has started
//             keep GENERATION COUNT KEY     line break, value
//             note KEY                      line break, value
//             drop KEY
//
// Descriptors are stored before the entry that names them and removed after the one that does not.
// A record whose descriptors are not all there counts as none.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/control/keeper_table.h"
#include "src/control/log.h"
#include "src/control/service_manager.h"
#include "src/os/fd.h"

namespace beeline::control {

// Not thread safe.
class FdStore {
 public:
  // Both are borrowed. REQUIRES: manager.listens().
  FdStore(const ServiceManager& manager, Log& log) : manager_(&manager), log_(&log) {}

  // The table that an earlier keeper of this service has left and `manager` has given out; empty if
  // there is none. Call it first. `since_boot_us` is the time at which the hive has started; the
  // call sets it to the time that the earlier keeper has stored, if there is one.
  [[nodiscard]] KeptTable restore(ServiceManager& manager, std::uint64_t& since_boot_us);

  // Store a change that has just been made in the table.
  void keep(const KeptTable& table, const std::string& key);
  void note(const KeptTable& table, const std::string& key);
  void drop(const KeptTable& table, const std::string& key);

  // The hive has ended in order: nothing of it is left to a next one.
  void clear();
  // In a child: closes the descriptor that is the keeper's alone.
  void forget() noexcept { journal_.reset(); }

 private:
  struct Stored {
    std::uint64_t generation = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] bool read_journal(ServiceManager& manager, KeptTable& table,
                                  std::uint64_t& since_boot_us);
  void replay(std::string_view entry, KeptTable& table, std::uint64_t& since_boot_us);
  void store(const std::string& key, const KeptRecord& record);
  void remove(const std::string& key, const Stored& stored);
  // Writes an entry; begins a new journal where the old one has become long.
  void write(const std::string& entry, const KeptTable& table);
  [[nodiscard]] bool append(const std::string& entry);
  [[nodiscard]] bool begin_journal(const KeptTable& table);
  void complain(std::string_view text);

  const ServiceManager* manager_;
  Log* log_;
  os::UniqueFd journal_;
  std::uint64_t number_ = 0;  // of the journal
  std::uint64_t since_boot_us_ = 0;
  std::uint64_t used_bytes_ = 0;  // of its entries
  std::uint64_t next_bytes_ = 0;  // at so many a new one begins
  std::uint64_t generation_ = 0;
  std::map<std::string, Stored> stored_;
  bool has_complained_ = false;
};

}  // namespace beeline::control
