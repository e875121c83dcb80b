#pragma once
// The switch of the seeded bugs. The build includes it in front of every source of beeline-mutants,
// since seed.py writes has_bug() into files that include nothing of the tests.

namespace beeline::mutants {

inline constexpr unsigned kNoBug = 0;
inline unsigned active_bug = kNoBug;  // chosen once, before anything runs

[[nodiscard]] inline bool has_bug(unsigned number) { return active_bug == number; }

}  // namespace beeline::mutants
