// The effect of each access on histories and views, and the further executions that it calls for.

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/explore/explorer.h"
#include "tests/explore/segments.h"

namespace beeline::explore {

namespace {

// Whether the access is one of those that copy messages.
bool is_copy(Place place) {
  static const char* copying = nullptr;  // the name in words.h for this access
  static const char* other = nullptr;
  if (place.file == copying) return true;
  if (place.file == other) return false;
  const bool copies = std::string_view(place.file).ends_with("shm/words.h");
  (copies ? copying : other) = place.file;
  return copies;
}

}  // namespace

std::uint64_t load(const void* at, std::size_t size, Order order, Place place) {
  return explorer().load(at, size, order, place);
}
void store(void* at, std::size_t size, std::uint64_t bits, Order order, Place place) {
  explorer().store(at, size, bits, order, place);
}
void full_fence(Place place) { explorer().full_fence(place); }
void crash_fence(Place place) { explorer().crash_fence(place); }

std::uint64_t Explorer::load(const void* at, std::size_t size, Order order, Place place) {
  if (current_ < 0) {  // before or after an execution
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, size);
    return bits;
  }
  may_switch();
  Thread& thread = self();
  find_plain_stores(thread);
  const bool acquire = order == Order::kStrong && !sites().is_weak(place);
  const std::size_t location = memory_.find(at, size);
  const std::size_t index = choose_store(thread, location, !acquire && is_copy(place));
  take_over(thread, location, index, acquire);
  const std::uint64_t bits = memory_[location].stores[index].bits;
  const bool stale = index != memory_[location].last_kept();
  note(acquire ? "observes" : "loads", location, bits, place, stale ? "(an older value)" : "");
  return bits;
}

std::size_t Explorer::choose_store(Thread& thread, std::size_t at, bool may_be_late) {
  if (memory_[at].writer == current_) return memory_[at].last_kept();
  for (std::size_t from = thread.now.of(at);;) {
    const std::vector<Store>& stores = memory_[at].stores;
    std::uint32_t options = 0;
    for (std::size_t i = from; i < stores.size(); ++i) options += stores[i].lost ? 0 : 1;
    if (options != 0) {
      std::uint32_t pick = path_.choose(options);
      if (pick < options) {  // the newest first
        note_load(thread, at, may_be_late);
        for (std::size_t i = stores.size() - 1;; --i) {
          if (!stores[i].lost && pick-- == 0) return i;
        }
      }
    }
    from = stores.size();
    put_off(thread, at);
  }
}

void Explorer::note_load(Thread& thread, std::size_t at, bool may_be_late) {
  const auto own = static_cast<std::size_t>(current_);
  const std::uint32_t step = ++thread.causes.steps[own];
  thread.now.raise(own, ++thread.reads);
  std::vector<Load>& loads = at == kFence ? fences_ : memory_[at].loads;
  loads.push_back(
      {path_.latest(), step, thread.reads, static_cast<std::uint8_t>(current_), may_be_late});
}

void Explorer::take_over(Thread& thread, std::size_t at, std::size_t index, bool acquire) {
  Store& store = memory_[at].stores[index];
  if (store.thread != current_) store.seen = true;
  thread.now.raise(at, index);
  thread.causes.join(store.causes);
  (acquire ? thread.now : thread.acquired).join(memory_.view(store.view));
  if (thread.polls) thread.polled.push_back({at, index});
}

void Explorer::store(void* at, std::size_t size, std::uint64_t bits, Order order, Place place) {
  if (current_ < 0) {
    std::memcpy(at, &bits, size);
    return;
  }
  may_switch();
  Thread& thread = self();
  may_die(thread);
  const bool release = order == Order::kStrong && !sites().is_weak(place);
  const std::size_t location = memory_.find(at, size);
  const int writer = memory_[location].writer;
  if (writer != kNobody && writer != current_) fail("a word has two writers");
  append(thread, location, bits, thread.released, release);
  std::memcpy(at, &bits, size);
  note(release ? "publishes" : "stores", location, bits, place);
}

// A thread that has loaded from this word and could have waited for this store gets another
// execution.
void Explorer::append(Thread& thread, std::size_t at, std::uint64_t bits, std::uint32_t view,
                      bool release) {
  Location& location = memory_[at];
  for (const Load& load : location.loads) {
    if (load.thread == current_) continue;
    if (thread.causes.steps[load.thread] < load.step) {
      if (!all_orders_) path_.defer(load.node);
    } else if (load.may_be_late && thread.now.of(load.thread) < load.read) {
      note("overwrites", at, bits, {});
      fail("a load may return a store that it caused: nothing keeps it before what follows it");
    }
  }
  location.writer = static_cast<std::uint8_t>(current_);
  thread.now.raise(at, location.stores.size());
  thread.unfenced.push_back({at, location.stores.size()});
  Store store;
  store.bits = bits;
  store.view = release ? memory_.keep(thread.now) : view;
  store.causes = thread.causes;
  store.thread = static_cast<std::uint8_t>(current_);
  store.release = release;
  memory_[at].stores.push_back(store);
  wake(at);
}

void Explorer::full_fence(Place place) {
  if (current_ < 0) return;
  may_switch();
  Thread& thread = self();
  may_die(thread);
  if (sites().is_weak(place)) return;
  while (path_.choose(1) != 0) put_off(thread, kFence);
  for (const Load& other : fences_) {
    if (other.thread != current_ && thread.causes.steps[other.thread] < other.step) {
      if (!all_orders_) path_.defer(other.node);
    }
  }
  note_load(thread, kFence, false);
  thread.now.join(thread.acquired);
  thread.now.join(fenced_);
  fenced_.join(thread.now);
  thread.causes.join(fence_causes_);
  fence_causes_.join(thread.causes);
  thread.released = memory_.keep(thread.now);
  thread.unfenced.clear();
  note("fences", 0, 0, place);
  wake(kFence);
}

void Explorer::crash_fence(Place place) {
  if (current_ < 0) return;
  may_die(self());
  if (!sites().is_weak(place)) self().unfenced.clear();
}

void Explorer::watch(int thread, void* at, std::size_t bytes, bool shared) {
  const std::size_t first = memory_.end();
  for (std::size_t i = 0; i < bytes; i += 8) {
    Location& location = memory_[memory_.find(static_cast<std::byte*>(at) + i, 8)];
    location.plain = shared;
  }
  threads_[static_cast<std::size_t>(thread)].watched.push_back({first, memory_.end()});
}

void Explorer::find_plain_stores(Thread& thread) {
  for (const Watched& range : thread.watched) {
    for (std::size_t at = range.first; at < range.end; ++at) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, memory_[at].at, 8);
      if (bits == memory_[at].stores.back().bits) continue;
      for (int other = 0; memory_[at].plain && other < kMaxThreads; ++other) {
        const std::size_t reader = static_cast<std::size_t>(other);
        if (other != current_ && thread.now.of(reader) < memory_[at].plain_reads[reader]) {
          note("writes", at, bits, {});
          fail("data race: plain memory is written while another thread may read it");
        }
      }
      append(thread, at, bits, 0, false);
      note("writes", at, bits, {});
    }
  }
}

void Explorer::read_plain(const void* at, std::size_t bytes) {
  if (current_ < 0) return;
  Thread& thread = self();
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::size_t location = memory_.find(static_cast<const std::byte*>(at) + i, 8);
    note("reads", location, memory_[location].stores.back().bits, {});
    if (thread.now.of(location) != memory_[location].last_kept()) {
      fail("data race: plain memory is read without having seen the last store to it");
    }
    const auto own = static_cast<std::size_t>(current_);
    memory_[location].plain_reads[own] = ++thread.reads;
    thread.now.raise(own, thread.reads);
  }
}

void Explorer::kernel_add(std::uint64_t& word) {
  if (current_ < 0) return;
  Thread& thread = self();
  may_die(thread);
  const std::size_t at = memory_.find(&word, 8);
  while (path_.choose(1) != 0) put_off(thread, at);
  note_load(thread, at, false);
  take_over(thread, at, memory_[at].last_kept(), true);
  append(thread, at, ++word, 0, true);
  thread.unfenced.clear();
  note("rings", at, word, {});
}

std::uint64_t Explorer::kernel_wait(std::uint64_t& word, std::uint64_t taken) {
  Thread& thread = self();
  may_die(thread);
  thread.unfenced.clear();
  const std::size_t at = memory_.find(&word, 8);
  for (bool may_go = false; !may_go;) {
    while (memory_[at].stores.back().bits <= taken) {
      thread.waits_for = at;
      rest(State::kBlocked);
    }
    may_go = path_.choose(1) == 0;
    if (!may_go) put_off(thread, at);
  }
  note_load(thread, at, false);
  take_over(thread, at, memory_[at].last_kept(), true);
  note("is woken", at, memory_[at].stores.back().bits, {});
  return memory_[at].stores.back().bits;
}

void Explorer::note(const char* what, std::size_t location, std::uint64_t bits, Place place,
                    const char* more) {
  if (!tracing_ || current_ < 0) return;
  char line[256];
  const char* name = scenario_->threads[static_cast<std::size_t>(current_)].name;
  if (location == 0) {
    std::snprintf(line, sizeof(line), "  %-12s %-17s %s", name, what, more);
  } else {
    std::snprintf(line, sizeof(line), "  %-12s %-10s %s = 0x%" PRIx64 " %s", name, what,
                  segment_name(memory_[location].at).c_str(), bits, more);
  }
  trace_ += line;
  const int site = place.file == nullptr ? -1 : sites().find(place);
  if (site >= 0) trace_ += "   " + sites().name(static_cast<std::size_t>(site));
  trace_ += '\n';
}

}  // namespace beeline::explore
