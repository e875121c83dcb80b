#!/usr/bin/env python3
"""Counts the instructions of send, receive and done under callgrind, and fails beyond the budget.

Usage: check.py BUDGET-PUMP. Exits with 77 where valgrind or nm is missing. Counts do not depend on
other load: looks at the control socket, which a clock causes, are left out.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Left out: the work that these do after a tick of the clock. Their callers ask whether the clock
# has ticked, and that counts. Under callgrind the clock runs on while a call takes fifty times as
# long.
LEFT_OUT = ("beeline::Turn::take_now(long)", "beeline::Intake::look_at_all()")
# Instructions for one message of 64 bytes, a few more than measured with GCC 12; see
# docs/performance.md. A change that makes a path dearer on purpose says why in
# docs/history/performance-steps.md and raises it here.
BUDGET = {"send": 332, "receive": 800, "done": 142}
# The same by the C interface.
BUDGET_IN_C = {"c_send": 372, "c_receive": 825, "c_payload": 50, "c_done": 158, "c_free": 30}
# The same while the hive records headers. While it is off, the history is two instructions of each
# path.
RECORDING = {"send": 460, "receive": 980, "done": 304}


def skip(why):
    print(f"budget: skipped: {why}")
    sys.exit(77)


def fail(why):
    print(f"budget: {why}", file=sys.stderr)
    sys.exit(1)


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def require_left_out(pump):
    """Callgrind leaves out nothing, and says nothing, where no function has the name."""
    symbols = run(["nm", "-C", "--defined-only", pump]).splitlines()
    missing = set(LEFT_OUT) - {symbol.split(" ", 2)[2] for symbol in symbols}
    if missing:
        fail(f"there is no {' and no '.join(missing)}, which is to be left out")


def costs(place):
    """The cheapest call of each budget_ function: in the others a clock had ticked."""
    found = {}
    for out in glob.glob(os.path.join(place, "out.*")):
        with open(out, encoding="utf-8") as dump:
            text = dump.read()
        name = re.search(r"^desc: Trigger: --dump-after=budget_(\w+)", text, re.M)
        total = re.search(r"^totals: (\d+)", text, re.M)
        if name and total:
            found.setdefault(name[1], []).append(int(total[1]))
    return {name: min(counts) for name, counts in found.items()}


def judge(words, budgets, label):
    """Prints the cost of each function; true if one is beyond its budget."""
    watch = [option for name in budgets
             for option in (f"--dump-before=budget_{name}", f"--dump-after=budget_{name}")]
    watch += [f"--toggle-collect={name}" for name in LEFT_OUT]
    watch += ["--collect-atstart=yes"]  # in this order
    with tempfile.TemporaryDirectory(prefix="budget-") as place:
        batch = int(run(["valgrind", "--quiet", "--tool=callgrind", *watch,
                         f"--callgrind-out-file={place}/out.%p", *words]))
        found = costs(place)
    beyond = False
    for name, budget in budgets.items():
        if name not in found:
            fail(f"callgrind has not seen budget_{name}; was the pump built without symbols?")
        each = found[name] / batch
        print(f"budget: {name}{label}: {each:.1f} instructions, budget {budget}")
        beyond |= each > budget
    return beyond


def main():
    pump = sys.argv[1]
    for tool in ("valgrind", "nm"):
        if shutil.which(tool) is None:
            skip(f"{tool} is not installed; run scripts/setup")
    require_left_out(pump)
    beyond = judge([pump], BUDGET | BUDGET_IN_C, "")
    beyond |= judge([pump, "history"], RECORDING, " with the history on")
    if beyond:
        fail("beyond the budget; `callgrind_annotate --inclusive=yes` on a run of the pump shows "
             "where they go")


if __name__ == "__main__":
    main()
