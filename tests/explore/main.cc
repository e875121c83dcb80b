// beeline-explore: runs the real headers of shm/ through every execution that the memory model
// allows, then again with each order of the source weakened, which a scenario must notice.
//
// beeline-explore ROOT [--long] [--site FILE:LINE]
//
// ROOT is the root of the repository; its sources contain the sites. --long also explores deeper
// forms. --site weakens one site and shows the effect.

#include <cstdio>
#include <string>
#include <vector>

#include "tests/explore/litmus.h"
#include "tests/explore/proof.h"

int main(int argc, char** argv) {
  using beeline::explore::Depth;
  const std::vector<std::string> args(argv + 1, argv + argc);
  Depth depth = Depth::kShort;
  std::string site;
  bool good = !args.empty() && !args[0].starts_with("--");
  for (std::size_t i = 1; good && i < args.size(); ++i) {
    if (args[i] == "--long") {
      depth = Depth::kLong;
    } else if (args[i] == "--site" && i + 1 < args.size()) {
      site = args[++i];
    } else {
      good = false;
    }
  }
  if (!good) {
    const bool asked = args == std::vector<std::string>{"--help"};
    std::fprintf(asked ? stdout : stderr,
                 "usage: beeline-explore ROOT [--long] [--site FILE:LINE]\n"
                 "  ROOT    the folder of the sources, whose memory orders are tried one by one\n"
                 "  --long  more preemptions in each execution, and one sleeper more\n"
                 "  --site  only this order, and an execution that fails without it\n");
    return asked ? 0 : 2;
  }
  if (!beeline::explore::sites().read(args[0])) return 1;
  beeline::explore::Proof proof(depth);
  if (!site.empty()) return proof.show(site) ? 0 : 1;
  const bool model = beeline::explore::litmus(depth == Depth::kLong ? 500 : 100);
  return proof.run() && model ? 0 : 1;
}
