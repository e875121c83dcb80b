// beeline-killpoints-boost: the same sweep for Beeline and for a neighbour, side by side. A process
// is killed in the middle of a send or a receive; can another one go on, and with which messages?
//
// It fails if it has swept nothing, or if Beeline is unusable, loses or damages anything. The
// neighbour's result is shown, not judged.

#include <CLI/CLI.hpp>
#include <array>
#include <boost/version.hpp>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "tests/killpoints/neighbour/trial.h"
#include "tests/killpoints/stepper.h"

namespace beeline::killpoints {
namespace {

constexpr std::array<std::uint32_t, 2> kLengths{32, 1024};

// Whether the sweep was complete.
bool sweep(const Neighbour& neighbour, std::uint64_t stride, bool must_be_clean) {
  bool is_good = true;
  for (const Part part : {Part::kSend, Part::kReceive}) {
    for (const std::uint32_t length : kLengths) {
      const Outcome outcome = kill_in(neighbour, part, length, stride);
      fmt::print("{:<20} {:<8} {:>6} {:>13} {:>6} {:>9} {:>6} {:>8}  {}\n", neighbour.name,
                 part == Part::kSend ? "send" : "receive", length, outcome.instructions,
                 outcome.kills, outcome.unusable(), outcome.lost, outcome.corrupt,
                 outcome.unusable() == 0
                     ? std::string()
                     : fmt::format("instructions {} to {}, {} hang", outcome.first_unusable,
                                   outcome.last_unusable, outcome.hangs));
      if (!outcome.first_error.empty()) fmt::print("  the first: {}\n", outcome.first_error);
      std::fflush(stdout);
      const bool is_clean = outcome.unusable() + outcome.lost + outcome.corrupt == 0;
      // Some kills fail, because an operation is not equally long each time.
      const bool is_swept = outcome.kills * 10 >= outcome.instructions / stride * 9;
      is_good = is_good && is_swept && (is_clean || !must_be_clean);
    }
  }
  return is_good;
}

int main_of(int argc, char** argv) {
  bool run_long = false;
  std::uint64_t stride = 32;
  CLI::App app("Kills Boost's message_queue and Beeline in the middle, and looks who can go on.");
  auto* const every = app.add_flag("--long", run_long, "after every instruction");
  app.add_option("--stride", stride, "after every Nth instruction")
      ->check(CLI::Range(1, 100))
      ->excludes(every);
  CLI11_PARSE(app, argc, argv);
  if (run_long) stride = 1;
  install_stepper();
  const KillpointsHive hive;
  fmt::print("Boost {}.{}.{}\n", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000,
             BOOST_VERSION % 100);
  fmt::print("{:<20} {:<8} {:>6} {:>13} {:>6} {:>9} {:>6} {:>8}\n", "queue", "killed", "bytes",
             "instructions", "kills", "unusable", "lost", "corrupt");
  std::fflush(stdout);
  const bool ours = sweep(kBeelineAgents, stride, true);
  const bool theirs = sweep(kBoostQueue, stride, false);
  if (!ours) fmt::print("FAILED: Beeline is swept and clean, that is the promise\n");
  if (!theirs) fmt::print("FAILED: too few kills of the neighbour\n");
  return ours && theirs ? 0 : 1;
}

}  // namespace
}  // namespace beeline::killpoints

int main(int argc, char** argv) {
  try {
    return beeline::killpoints::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "beeline-killpoints-boost: {}\n", error.what());
  }
  return 2;
}
