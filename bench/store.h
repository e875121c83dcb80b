#pragma once
// The stores of `beeline-bench buffer`: each keeps messages in files, for senders that wait for its
// answer.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <beeline/result.h>

namespace beeline::bench {

// A frame of a write-ahead log of SQLite, and the length that such a log keeps from its first
// checkpoint on.
inline constexpr std::uint64_t kWalFrameBytes = 4096 + 24;
inline constexpr std::uint64_t kWalFrames = 1000;

inline constexpr std::size_t kStorePayloadBytes = 200;
// JSON of that size.
[[nodiscard]] std::string store_payload(std::uint64_t number);

// A sender in one process.
class StoreSender {
 public:
  StoreSender() = default;
  StoreSender(const StoreSender&) = delete;
  StoreSender& operator=(const StoreSender&) = delete;
  virtual ~StoreSender() = default;

  // Returns when the store has answered. Errors: kSystem, those of the store.
  [[nodiscard]] virtual Result<void> put(const std::string& payload) = 0;
};

// The promises that an answer may be.
inline constexpr const char* kSyncedBefore = "synced before the answer";
inline constexpr const char* kSyncedLater = "answered before the sync";

struct StoreWords {
  std::string name{};
  std::string promise{};  // of an answer
  std::string version{};
  std::string database{};  // of SQLite; empty: the store has none
};

// Ends its server and its processes when it is destroyed. The folder of its files stays.
class Store {
 public:
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] const StoreWords& words() const { return words_; }
  // Connects the calling process. The numbers tell the senders apart. Errors: kSystem, those of
  // the store.
  [[nodiscard]] virtual Result<std::unique_ptr<StoreSender>> connect(std::size_t number) const = 0;

 protected:
  explicit Store(StoreWords words) : words_(std::move(words)) {}

 private:
  StoreWords words_;
};

// Starts a store whose files lie in an empty folder. Errors: kInvalid (it is not installed or not
// built in), kSystem, kTimeout.
using StartStore = std::function<Result<std::unique_ptr<Store>>(const std::string& folder)>;

// How many bytes a put writes to the write-ahead log of SQLite: the middle of some puts. 0: the
// store has no such log. Errors: those of put(), kSystem.
[[nodiscard]] Result<std::uint64_t> wal_bytes(const Store& store, StoreSender& sender);

}  // namespace beeline::bench
