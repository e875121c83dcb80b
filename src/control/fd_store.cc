#include "src/control/fd_store.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/os/memfd.h"

namespace beeline::control {
namespace {

constexpr std::string_view kJournalName = "store.";
constexpr std::uint64_t kHeaderBytes = sizeof(std::uint64_t);
constexpr std::uint64_t kLeastBytes = 256 * 1024;  // before a new journal begins
constexpr std::uint64_t kMostBytes = 1ULL << 30;

// All names are equally long, so sorting them as texts sorts them by number.
std::string journal_name(std::uint64_t number) {
  return fmt::format("{}{:020}", kJournalName, number);
}

bool write_at(int fd, std::uint64_t offset, const void* bytes, std::size_t count) {
  return ::pwrite(fd, bytes, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
}

bool read_all(int fd, std::uint64_t offset, void* to, std::size_t count) {
  const std::span<std::byte> bytes(static_cast<std::byte*>(to), count);
  const auto read = os::read_at(fd, offset, bytes);
  return read && *read == count;
}

// Cuts the first word off, as a number; 0 if it is none.
std::uint64_t cut_number(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  std::uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + end, value);
  text.remove_prefix(std::min(end + 1, text.size()));
  return value;
}

bool cut(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string name_of(const std::string& key, std::uint64_t generation, std::size_t index) {
  return fmt::format("{}.{}.{}", key, generation, index);
}

std::string keep_entry(const std::string& key, std::uint64_t generation, const KeptRecord& record) {
  return fmt::format("keep {} {} {}\n{}", generation, record.fds.size(), key, record.value);
}

}  // namespace

KeptTable FdStore::restore(ServiceManager& manager, std::uint64_t& since_boot_us) {
  KeptTable table;
  if (!read_journal(manager, table, since_boot_us)) table.clear();
  since_boot_us_ = since_boot_us;
  for (auto record = table.begin(); record != table.end();) {
    const Stored& stored = stored_[record->first];
    std::vector<os::UniqueFd>& fds = record->second.fds;
    for (std::size_t i = 0; i < stored.count; ++i) {
      if (auto fd = manager.take(name_of(record->first, stored.generation, i)); fd.valid()) {
        fds.push_back(std::move(fd));
      }
    }
    if (fds.size() == stored.count) {
      ++record;
      continue;
    }
    log_->warn("store_incomplete", "key={} fds={} of={}", record->first, fds.size(), stored.count);
    remove(record->first, stored);
    stored_.erase(record->first);
    record = table.erase(record);
  }
  if (!begin_journal(table)) complain("no journal could be made");
  return table;
}

bool FdStore::read_journal(ServiceManager& manager, KeptTable& table,
                           std::uint64_t& since_boot_us) {
  const std::string name = manager.last_name(kJournalName);
  if (name.empty()) return true;
  std::string_view digits = std::string_view(name).substr(kJournalName.size());
  number_ = cut_number(digits);
  const os::UniqueFd old = manager.take(name);
  std::uint64_t length = 0;
  if (!read_all(old.get(), 0, &length, sizeof length) || length > kMostBytes) return false;
  std::string entries(length, '\0');
  if (!read_all(old.get(), kHeaderBytes, entries.data(), length)) return false;
  for (std::string_view rest = entries; rest.size() >= sizeof(std::uint32_t);) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, rest.data(), sizeof bytes);
    rest.remove_prefix(sizeof bytes);
    if (bytes > rest.size()) return false;
    replay(rest.substr(0, bytes), table, since_boot_us);
    rest.remove_prefix(bytes);
  }
  return true;
}

void FdStore::replay(std::string_view entry, KeptTable& table, std::uint64_t& since_boot_us) {
  if (cut(entry, "since ")) {
    since_boot_us = cut_number(entry);
    return;
  }
  const bool keeps = cut(entry, "keep ");
  Stored stored;
  if (keeps) {
    stored.generation = cut_number(entry);
    stored.count = cut_number(entry);
    generation_ = std::max(generation_, stored.generation);
  }
  const bool drops = !keeps && cut(entry, "drop ");
  if (!keeps && !drops && !cut(entry, "note ")) return;
  const std::size_t line = std::min(entry.find('\n'), entry.size());
  const std::string key(entry.substr(0, line));
  if (drops) {
    table.erase(key);
    stored_.erase(key);
    return;
  }
  table[key].value = entry.substr(std::min(line + 1, entry.size()));
  if (keeps) stored_[key] = stored;
}

void FdStore::keep(const KeptTable& table, const std::string& key) {
  const auto before = stored_.find(key);
  const Stored old = before == stored_.end() ? Stored() : before->second;
  const KeptRecord& record = table.at(key);
  store(key, record);
  write(keep_entry(key, generation_, record), table);
  remove(key, old);
}

void FdStore::note(const KeptTable& table, const std::string& key) {
  write(fmt::format("note {}\n{}", key, table.at(key).value), table);
}

void FdStore::drop(const KeptTable& table, const std::string& key) {
  const auto found = stored_.find(key);
  const Stored old = found == stored_.end() ? Stored() : found->second;
  stored_.erase(key);
  write(fmt::format("drop {}", key), table);
  remove(key, old);
}

void FdStore::store(const std::string& key, const KeptRecord& record) {
  const Stored stored{++generation_, record.fds.size()};
  stored_[key] = stored;
  for (std::size_t i = 0; i < stored.count; ++i) {
    const int fd = record.fds[i].get();
    // FDPOLL=0: the manager would let a pidfd go once its process has ended.
    const std::string text =
        fmt::format("FDSTORE=1\nFDPOLL=0\nFDNAME={}", name_of(key, stored.generation, i));
    if (!manager_->say(text, {&fd, 1})) complain("a descriptor could not be stored");
  }
}

void FdStore::remove(const std::string& key, const Stored& stored) {
  for (std::size_t i = 0; i < stored.count; ++i) {
    (void)manager_->say(
        fmt::format("FDSTOREREMOVE=1\nFDNAME={}", name_of(key, stored.generation, i)));
  }
}

void FdStore::clear() {
  // The journal first: without it nothing counts.
  (void)manager_->say("FDSTOREREMOVE=1\nFDNAME=" + journal_name(number_));
  for (const auto& [key, stored] : stored_) remove(key, stored);
  stored_.clear();
}

void FdStore::write(const std::string& entry, const KeptTable& table) {
  // A new journal holds the table as it is now, this entry included.
  const bool written = used_bytes_ < next_bytes_ ? append(entry) : begin_journal(table);
  if (!written) complain("the journal could not be written");
}

bool FdStore::append(const std::string& entry) {
  const auto bytes = static_cast<std::uint32_t>(entry.size());
  const std::uint64_t at = kHeaderBytes + used_bytes_;
  const std::uint64_t used = used_bytes_ + sizeof bytes + bytes;
  const bool written = write_at(journal_.get(), at, &bytes, sizeof bytes) &&
                       write_at(journal_.get(), at + sizeof bytes, entry.data(), bytes) &&
                       write_at(journal_.get(), 0, &used, sizeof used);
  if (written) used_bytes_ = used;
  return written;
}

bool FdStore::begin_journal(const KeptTable& table) {
  auto made = os::create_memfd("beeline-store", kHeaderBytes);
  if (!made) return false;
  journal_ = std::move(*made);
  used_bytes_ = 0;
  if (!append(fmt::format("since {}", since_boot_us_))) return false;
  for (const auto& [key, record] : table) {
    if (!append(keep_entry(key, stored_[key].generation, record))) return false;
  }
  next_bytes_ = std::max(kLeastBytes, 2 * used_bytes_);
  const std::uint64_t old = number_++;
  const int fd = journal_.get();
  if (!manager_->say("FDSTORE=1\nFDPOLL=0\nFDNAME=" + journal_name(number_), {&fd, 1}))
    return false;
  if (old != 0) (void)manager_->say("FDSTOREREMOVE=1\nFDNAME=" + journal_name(old));
  return true;
}

void FdStore::complain(std::string_view text) {
  if (std::exchange(has_complained_, true)) return;
  log_->warn("store_failed", "text=\"{}: a keeper that is started again finds less\"", text);
}

}  // namespace beeline::control
