// Each file call of each step fails once, and each is the last one of a process that is killed.

#include <cerrno>
#include <functional>

#include "tests/spool/call_faults.h"
#include "tests/spool/spool_fixture.h"
#include "tests/support/soak.h"

namespace beeline::spool::test {
namespace {

// A step from one state of the task "a" to another one.
struct Step {
  const char* name;
  std::function<void(Spool&)> prepare;  // without faults
  // Returns whether it succeeded. A claim that is left stays with its process.
  std::function<bool(Spool&)> act;
};

std::vector<Step> steps() {
  const auto put_one = [](Spool& spool) {
    Task made;
    made.id = "a";
    EXPECT_TRUE(spool.put(made));
  };
  const auto claim_one = [put_one](Spool& spool) {
    put_one(spool);
    spool.try_claim()->keep();
  };
  const auto end = [](auto how) {
    return [how](Spool& spool) {
      auto claim = spool.held("a");
      if (!claim) return false;
      const bool done = how(*claim);
      if (claim->valid()) claim->keep();
      return done;
    };
  };
  return {
      {"put", [](Spool&) {},
       [](Spool& spool) {
         Task made;
         made.id = "a";
         return spool.put(made).has_value();
       }},
      {"claim", put_one,
       [](Spool& spool) {
         auto claim = spool.try_claim();
         if (claim) claim->keep();
         return claim.has_value();
       }},
      {"complete", claim_one, end([](Claim& claim) { return claim.complete().has_value(); })},
      {"fail", claim_one, end([](Claim& claim) { return claim.fail("e").has_value(); })},
      {"retry", claim_one, end([](Claim& claim) { return claim.retry("e").has_value(); })},
      {"note", claim_one, end([](Claim& claim) { return claim.write_note("n").has_value(); })},
      {"sweep", [](Spool&) {}, [](Spool& spool) { return spool.sweep().has_value(); }},
  };
}

class SpoolFaultTest : public SpoolTest {
 protected:
  // The task is in one place, or its end and its claim are there: the recovery removes the claim.
  void expect_once(const std::string& where) {
    Names tasks = names("inbox");
    tasks.merge(names("processing"));
    Names ends = names("outbox");
    ends.merge(names("failed"));
    EXPECT_LE(tasks.size(), 1U) << where;
    EXPECT_LE(ends.size(), 1U) << where;
    const bool is_put = where.starts_with("put");
    EXPECT_GE(tasks.size() + ends.size(), is_put ? 0U : 1U) << where << ": the task is lost";
  }
  // Brings the task to its end, which nothing hinders now.
  void expect_end(const std::string& where) {
    Spool spool = open();
    EXPECT_TRUE(spool.sweep()) << where;
    auto claim = spool.try_claim();
    EXPECT_TRUE(!claim || claim->complete()) << where;
    // The claim of this very process: a living worker's.
    auto held = spool.held("a");
    EXPECT_TRUE(!held || held->complete()) << where;
    EXPECT_TRUE(names("inbox").empty() && names("processing").empty()) << where;
    expect_once(where);
  }
  void clean() {
    for (const auto& file : all_files()) fs::remove_all(path(file));
  }
  void prepare(const Step& step, Spool& spool) {
    if (std::string(step.name) != "sweep") return step.prepare(spool);
    leave_claim("a");
  }
  // Sweeps the calls of a step until none is left. `strike` returns false then.
  void for_each_call(const std::function<bool(const Step&, int, const std::string&)>& strike) {
    for (const Sync sync : {Sync::kNone, Sync::kFull}) {
      options_.sync = sync;
      for (const Step& step : steps()) {
        int call = 1;
        for (;; ++call) {
          const std::string where = std::string(step.name) + ", call " + std::to_string(call);
          if (!strike(step, call, where)) break;
          expect_once(where);
          expect_end(where);
          clean();
          if (HasFailure()) return;
        }
        EXPECT_GT(call, 4) << step.name << ": too few calls were seen";
        clean();
      }
    }
  }
};

TEST_F(SpoolFaultTest, WhateverCallFailsTheTaskStaysAndTheNextTrySucceeds) {
  const std::vector<int> errors = beeline::test::is_soak()
                                      ? std::vector<int>{ENOSPC, EIO, EINTR, EROFS, EACCES, EDQUOT}
                                      : std::vector<int>{ENOSPC, EINTR};
  for (const int error : errors) {
    for_each_call([&](const Step& step, int call, const std::string& where) {
      Spool spool = open();
      prepare(step, spool);
      aim({call, error});
      const bool done = step.act(spool);
      const bool was_reached = aim({}) >= call;
      expect_once(where);
      if (!done && std::string(step.name) != "claim") {
        const bool ends = step.act(spool) || (spool.sweep() && names("processing").empty());
        EXPECT_TRUE(ends) << where;
      }
      return was_reached;
    });
  }
}

// DR-017
TEST_F(SpoolFaultTest, AKillBeforeAnyCallLosesNothing) {
  for_each_call([&](const Step& step, int call, const std::string&) {
    if (std::string(step.name) == "sweep") leave_claim("a");
    Child victim([&] {
      Spool spool = open();
      step.prepare(spool);
      aim({call, 0});
      (void)step.act(spool);
    });
    return WIFSIGNALED(victim.wait());
  });
}

}  // namespace
}  // namespace beeline::spool::test
