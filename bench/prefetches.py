#!/usr/bin/env python3
"""Reports whether the engine, as it is compiled to be delivered, asks for lines ahead: a compiler
may leave a prefetch out, and no test would notice. GCC 12 does so in a function that does nothing
else; see shm::prefetch().

Usage: prefetches.py PROGRAM. Prints each function with its prefetches, and marks those that have
fewer than they should: look there first if a change made a path slower.
"""

import re
import shutil
import subprocess
import sys

READ = "prefetcht0"
WRITE = "prefetchw"
# For each function of the engine: the prefetches in its code, and how many at least.
EXPECTED = {
    "Leases::done": (WRITE, 2),  # the slot of the next message to send
    "Sender::reply": (WRITE, 2),  # the same
    "Questions::ask": (WRITE, 2),  # the same
    "Sender::send_loan": (WRITE, 2),  # the same
    "receive::LaneReader::prefetch_slab": (READ, 1),  # the lines of a payload in a slab
    "receive::Drain::drain": (READ, 1),  # the payload of the next message, and its header
    "receive::Receiver::only_link": (READ, 1),  # the payload, and the header
    "receive::Drain::put_run": (READ, 4),  # both lines of the first slots, and of one slot ahead
    "receive::Receiver::take": (WRITE, 2),  # the next entry of a deep inbox
    "send::SendPath::prefetch_next_slab": (WRITE, 2),  # the lines of the next slab
    "send::SendPath::write_plain": (WRITE, 2),  # a slot ahead
}

# Functions that must call one with prefetches.
CALLS = {
    "receive::Receiver::take": "receive::Entries::prefetch_next_payload",
    "receive::Entries::prefetch_next_payload": "receive::LaneReader::prefetch_slab",
}


def prefetches_of(code):
    """For each function, with the parts that the compiler split off: its prefetch instructions, and
    the functions that it calls or jumps to."""
    found = {}
    function = ""
    for line in code.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            function = head[1].split("(")[0].removeprefix("beeline::")
            found.setdefault(function, [])
        elif prefetch := re.match(r"\s+[0-9a-f]+:\s+(prefetch\w*)", line):
            found[function].append(prefetch[1])
        elif call := re.match(r"\s+[0-9a-f]+:\s+(?:call|jmp)\s+[0-9a-f]+ <([^(]*)\(", line):
            found[function].append(call[1].removeprefix("beeline::"))
    return found


def row(name, kind, least, found):
    if name not in found:
        return f"MISSING {name}: say in EXPECTED into which function the compiler took it"
    count = found[name].count(kind)
    return f"{'ok     ' if count >= least else 'FEWER  '} {name}: {count} {kind}, {least} expected"


def main():
    if shutil.which("objdump") is None:
        sys.exit("prefetches: objdump is not installed; run scripts/setup")
    code = subprocess.run(
        ["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", sys.argv[1]],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    found = prefetches_of(code)
    rows = [row(name, kind, least, found) for name, (kind, least) in EXPECTED.items()]
    rows += [row(name, called, 1, found) for name, called in CALLS.items()]
    print("\n".join(rows))


if __name__ == "__main__":
    main()
