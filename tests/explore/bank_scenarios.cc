// Receipt banks: found by name, and reused for another link.

#include "tests/explore/engine.h"
#include "tests/explore/scenarios.h"

namespace beeline::explore {

namespace {

constexpr std::uint64_t kOldCursor = 7;
constexpr std::uint64_t kNewCursor = 2;

shm::Link receipts_link() { return {segment("link B>A", 1), contract_of(2)}; }

// A bank served `old_key` and is given to A's link `new_key`, while A looks for it.
Scenario reuse(const char* name, const shm::LinkKey& old_key, const shm::LinkKey& new_key) {
  Scenario scenario(name, "1 bank, 2 links",
                    "who finds its bank sees the cursors and stamps that it was opened with");
  scenario.set_up = [old_key] {
    const shm::Link link = fresh_link("link B>A", contract_of(2));
    shm::open_bank(link.bank(0), old_key, kOldCursor, kOldCursor);
    link.bank(0).stamps_ready.relaxed_store(1);
  };
  scenario.threads = {
      {"receiver",
       [new_key] {
         const shm::Link link = receipts_link();
         shm::close_bank(link.bank(0));
         const std::size_t bank = shm::vacant_bank(link);
         check(bank == 0, "the closed bank is not vacant");
         shm::open_bank(link.bank(bank), new_key, kNewCursor, kNewCursor);
       }},
      {"sender",
       [new_key] {
         const shm::LinkView link = view_of(receipts_link());
         const std::size_t bank = link.find_bank(new_key);
         if (bank == shm::kBanks) return;
         check(bank == 0, "another bank answers to the name");
         for (const auto& cursor : link.bank(bank).cursors) {
           check(cursor.relaxed_load() == kNewCursor, "a cursor of the link before");
         }
         check(link.bank(bank).stamps_ready.relaxed_load() == 0, "stamps of the link before");
       }},
  };
  scenario.least = 2;
  return scenario;
}

// A successor opens its bank with the stamps of its predecessor, while A looks for it.
Scenario inherited() {
  Scenario scenario("bank-inherited", "1 bank, 2 lives",
                    "who finds the bank of a successor sees the stamps that it inherited");
  scenario.set_up = [] {
    const shm::Link old = fresh_link("old link B>A", contract_of(2));
    const shm::Link link = fresh_link("link B>A", contract_of(2));
    shm::open_bank(old.bank(0), kLinkA, kNewCursor, 0);
    old.bank(0).stamps_ready.relaxed_store(1);
    old.stamp(0, kSlab).relaxed_store(5);
    link.stamp(0, kSlab).relaxed_store(9);  // of another life
  };
  scenario.threads = {
      {"successor",
       [] {
         const shm::LinkView old{segment("old link B>A", 1), contract_of(2)};
         const shm::Link link = receipts_link();
         shm::InheritedLink inherited;
         shm::copy_stamps(old, old.find_bank(kLinkA), inherited);
         shm::inherit_stamps(link, 0, inherited);
         shm::open_bank(link.bank(0), kLinkA, kNewCursor, 0);
       }},
      {"sender",
       [] {
         const shm::LinkView link = view_of(receipts_link());
         const std::size_t bank = link.find_bank(kLinkA);
         if (bank == shm::kBanks) return;
         check(link.bank(bank).cursors[0].relaxed_load() == kNewCursor, "a cursor from nowhere");
         check(link.bank(bank).stamps_ready.observe() != 0, "stamps that are not ready");
         check(link.stamp(bank, kSlab).relaxed_load() == 5, "a stamp of another life");
       }},
  };
  return scenario;
}

}  // namespace

void add_bank_scenarios(Scenarios& all, Depth /*depth*/) {
  all.push_back(reuse("bank-next-link", {kLifeA, 1}, {kLifeA, 2}));
  all.push_back(reuse("bank-next-life", {shm::Incarnation(kLifeA.value() - 1), 1}, {kLifeA, 1}));
  all.push_back(inherited());
}

}  // namespace beeline::explore
