#!/usr/bin/env python3
"""That what the engine asks for ahead is asked for in the program that is delivered: a compiler may
leave a prefetch out, and no other test would notice. GCC 12 did so wherever a function did nothing
else, which cost a round trip of a KiB a sixth.

usage: prefetches.py PROGRAM
"""

import re
import subprocess
import sys

# A function of the engine, and how many prefetches its code has at least.
EXPECTED = {
    "receive::Receiver::only_link": 1,  # the payload of the next message, with its header
    "receive::Receiver::drain_lane": 2,  # both lines of a slot behind it, in a backlog
    "receive::Receiver::prepare_slab": 1,  # the lines of a payload in a slab
    "send::SendPath::send_plain": 2,  # a slot ahead, to be written
    "send::SendPath::prefetch_next_slab": 2,  # the lines of the next slab, to be written
}


def count_prefetches(program):
    """How many prefetch instructions the code of each function has."""
    code = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", program],
        check=True, capture_output=True, text=True).stdout
    counts = {}
    function = ""
    for line in code.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            # What was cut off from a function counts with it.
            function = head[1].split("(")[0].removeprefix("beeline::")
        elif re.match(r"\s+[0-9a-f]+:\s+prefetch", line):
            counts[function] = counts.get(function, 0) + 1
    return counts


def main():
    counts = count_prefetches(sys.argv[1])
    missing = [f"{name}: {counts.get(name, 0)} prefetches, expected at least {least}; see "
               "shm::prefetch(), or say here into which function it was taken"
               for name, least in EXPECTED.items() if counts.get(name, 0) < least]
    for line in missing:
        print(line)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
