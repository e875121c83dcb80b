#!/usr/bin/env python3
"""Runs the examples in C++ and C as their users do. Usage: examples_test.py SOURCE BUILD"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import scratch

SOURCE, BUILD = sys.argv[1:3]


class ExamplesTest(unittest.TestCase):
    def setUp(self):
        self.tree, self.environment = self.enterContext(scratch.hive(SOURCE, BUILD))
        self.started = []

    def tearDown(self):
        for program in self.started:
            program.kill()
            program.wait()
            for stream in (program.stdin, program.stdout):
                stream.close()

    def start(self, *words):
        program = subprocess.Popen(
            words,
            cwd=self.tree,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(program)
        return program

    def beeline(self, *words):
        command = ["beeline", *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, check=True)
        return done.stdout.decode()

    def test_two_processes_ask_and_answer_and_end_with_their_hive(self):
        worker = self.start("build/bin/examples/two", "worker")
        asker = self.start("build/bin/examples/two")
        self.assertEqual(asker.communicate(timeout=60)[0], "6 * 7 = 42\n")
        self.beeline("down")
        self.assertEqual(worker.wait(timeout=60), 0)

    def test_a_loop_asks_a_worker_that_comes_later(self):
        asker = self.start("build/bin/examples/loop")
        worker = self.start("build/bin/examples/two", "worker")
        self.assertEqual(asker.communicate(timeout=60)[0], "6 * 7 = 42\n")
        self.assertEqual(asker.returncode, 0)
        self.beeline("down")
        self.assertEqual(worker.wait(timeout=60), 0)

    def test_a_boss_gives_tasks_to_two_children(self):
        boss = self.start("build/bin/examples/execute")
        self.wait_for_agent("boss")
        children = [self.start("build/bin/examples/execute", name) for name in ("left", "right")]
        self.assertEqual(boss.communicate(timeout=60)[0], "6 words\n")
        self.assertEqual(boss.returncode, 0)
        self.beeline("down")
        for child in children:
            child.wait(timeout=60)

    @unittest.skipUnless(pathlib.Path(BUILD, "bin/examples/spool").exists(), "without the folder")
    def test_a_worker_of_a_task_folder_counts_words(self):
        with tempfile.TemporaryDirectory() as folder:
            self.environment["DROVER_MAILBOX_DIR"] = folder
            put = self.start("build/bin/examples/spool", "put", "to be or not", "")
            ids = put.communicate(timeout=60)[0].split()
            worker = self.start("build/bin/examples/spool", "work")
            worker.communicate(timeout=60)
            shown = self.beeline("spool", "ls", "--json")
            self.assertEqual(len(ids), 2)
            result = pathlib.Path(folder, "outbox", ids[0] + "_result.json")
            self.assertEqual(json.loads(result.read_text(encoding="utf-8"))["output"], "4")
            self.assertTrue(pathlib.Path(folder, "failed", ids[1] + "_error.json").exists(), shown)
            put = self.start("build/bin/examples/spool", "put", "in C")
            task = put.communicate(timeout=60)[0].strip()
            worker = self.start("build/bin/examples/c-spool", folder)
            self.assertIn(f'"id": "{task}"', worker.communicate(timeout=60)[0])
            self.assertTrue(pathlib.Path(folder, "outbox", task + "_result.json").exists())

    @unittest.skipUnless(scratch.has_verb(BUILD, "buffer"), "without the buffer")
    def test_a_main_agent_gets_what_was_put(self):
        keeper = self.start("beeline", "buffer", "run", "--db", "buffer.db")
        put = self.start("build/bin/examples/buffer", "put", "mail", "one", "two")
        self.assertEqual(put.communicate(timeout=60)[0], "1\n2\n")
        main = self.start("build/bin/examples/buffer", "work")
        lines = [main.stdout.readline() for _ in range(2)]
        self.assertEqual(lines, ["mail: one\n", "mail: two\n"])
        keeper.send_signal(signal.SIGTERM)
        self.assertEqual(keeper.wait(timeout=60), 0)
        self.beeline("down")
        self.assertEqual(main.wait(timeout=60), 0)

    def test_a_worker_in_c_counts_lines(self):
        worker = self.start("build/bin/examples/c-worker", "counter")
        self.wait_for_agent("counter")
        readme = pathlib.Path(SOURCE, "README.md")
        lines = readme.read_text(encoding="utf-8").count("\n")
        self.assertEqual(self.beeline("request", "counter", str(readme)), f"{lines}\n")
        command = ["beeline", "request", "counter", "/nowhere"]
        refused = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("no such file", refused.stderr)
        self.beeline("down")
        self.assertEqual(worker.wait(timeout=60), 0)

    @unittest.skipUnless(pathlib.Path(BUILD, "bin/beeline-steward").exists(), "without a steward")
    def test_a_boss_in_c_looks_after_a_child(self):
        boss = self.start("build/bin/examples/c-children")
        self.assertEqual(boss.communicate(timeout=60)[0], "sleeping\nrunning\nkilled\n")
        self.assertEqual(boss.returncode, 0)

    def wait_for_agent(self, name):
        end = time.monotonic() + 60
        command = ["beeline", "info", name]
        while subprocess.run(command, env=self.environment, capture_output=True).returncode != 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_pages_show_lines_of_their_examples(self):
        for page, examples, count in (
            ("event-loops", ["loop.cc"], 1),
            ("execute", ["execute.cc"], 2),
            ("buffer", ["buffer.cc"], 1),
            ("spool", ["spool.cc"], 1),
            ("c", ["worker.c", "children.c", "spool.c"], 3),
        ):
            text = pathlib.Path(SOURCE, f"docs/{page}.md").read_text(encoding="utf-8")
            program = "".join(
                pathlib.Path(SOURCE, "examples", name).read_text(encoding="utf-8")
                for name in examples
            )
            blocks = re.findall(r"^```(?:cpp|c)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            self.assertEqual(len(blocks), count)
            for block in blocks:
                self.assertIn(block, program)

    def test_a_lead_asks_three_workers_at_once(self):
        out = self.start("build/bin/examples/workers").communicate(timeout=60)[0]
        self.assertEqual(
            out,
            "the first part of worker-1: done\nthe second part of worker-2: done\n"
            "the rest of worker-3: done\n",
        )

    def test_a_supervisor_starts_a_worker_again_that_was_killed(self):
        supervisor = self.start("build/bin/examples/supervisor")
        lines = [supervisor.stdout.readline().split() for _ in range(3)]
        self.assertEqual([line[0] for line in lines], ["worker-1", "worker-2", "worker-3"])
        os.kill(int(lines[1][3]), signal.SIGKILL)
        again = supervisor.stdout.readline().split()
        self.assertEqual(again[0], "worker-2")
        self.assertNotEqual(again[3], lines[1][3])
        self.assertEqual(self.beeline("request", "worker-2", "part"), "part: done\n")
        self.beeline("down")
        self.assertEqual(supervisor.wait(timeout=60), 0)

    def test_two_event_loops_talk_to_each_other(self):
        left = self.start("build/bin/examples/chat", "left", "right")
        self.assertEqual(self.beeline("request", "left", "first"), "read\n")
        self.assertEqual(left.stdout.readline().split(": ")[1], "first\n")
        right = self.start("build/bin/examples/chat", "right", "left")
        # A request waits for an agent of that name; a message does not.
        self.assertEqual(self.beeline("request", "right", "second", "--as", "third"), "read\n")
        self.assertEqual(right.stdout.readline(), "third: second\n")
        right.stdin.write("hello\n")
        right.stdin.flush()
        self.assertEqual(left.stdout.readline(), "right: hello\n")
        left.stdin.close()
        self.assertEqual(left.wait(timeout=60), 0)
        self.beeline("down")
        self.assertEqual(right.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
