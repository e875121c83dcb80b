#!/usr/bin/env python3
"""Plays systemd for beelined: sockets, readiness and stored descriptors, as the units in systemd/
ask for them. Usage: services_test.py SOURCE BUILD"""

import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import scratch

SOURCE, BUILD = sys.argv[1:3]


class Manager:
    """Does as systemd does with a Type=notify service that has a socket and a descriptor store."""

    def __init__(self, folder, environment):
        self.environment = environment
        self.stored = {}  # descriptors by name
        self.said = []
        self.is_ready = threading.Event()
        self.is_caught_up = threading.Event()
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        self.path = folder / "hive" / "socket"
        self.path.parent.mkdir(mode=0o700)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen(4096)
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self):
        while True:
            text, fds, _, _ = socket.recv_fds(self.notify, 4096, 16)
            lines = dict(line.split("=", 1) for line in text.decode().splitlines())
            if "FDSTORE" in lines:
                self.stored.setdefault(lines["FDNAME"], []).extend(fds)
            for fd in self.stored.pop(lines["FDNAME"], []) if "FDSTOREREMOVE" in lines else []:
                os.close(fd)
            self.said.append(lines)
            if "READY" in lines:
                self.is_ready.set()
            if "CAUGHT_UP" in lines:
                self.is_caught_up.set()

    def catch_up(self):
        """Waits until all that was sent before has been heard."""
        self.is_caught_up.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"CAUGHT_UP=1", self.notify.getsockname())
        assert self.is_caught_up.wait(60), "the manager has not read what was sent to it"

    def wait_for_connection(self):
        assert select.select([self.listener], [], [], 60)[0], "nobody has connected"

    def start(self):
        given = [("beeline", self.listener.fileno())]
        given += [(name, fd) for name, fds in self.stored.items() for fd in fds]
        # Above all that are given, so that moving one to its place overwrites none.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 1000) for _, fd in given]
        environment = dict(self.environment)
        environment["NOTIFY_SOCKET"] = str(self.path.parent.parent / "notify")
        environment["LISTEN_FDS"] = str(len(given))
        environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in given)

        def place():
            for number, fd in enumerate(high):
                os.dup2(fd, 3 + number)

        self.is_ready.clear()
        service = subprocess.Popen(
            ["sh", "-c", "LISTEN_PID=$$ exec beelined --foreground --hive default"],
            env=environment,
            preexec_fn=place,
            close_fds=False,
            stderr=subprocess.DEVNULL,
        )
        for fd in high:
            os.close(fd)
        assert self.is_ready.wait(60), "the service has not said READY=1"
        return service


class ServicesTest(unittest.TestCase):
    def setUp(self):
        tree, self.environment = self.enterContext(scratch.hive(SOURCE, BUILD))
        self.manager = Manager(tree.parent, self.environment)
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
        # A client that connects now would wait for a service.
        self.manager.listener.close()

    def start_service(self):
        service = self.manager.start()
        self.started.append(service)
        return service

    def start(self, *words):
        program = subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.started.append(program)
        return program

    def beeline(self, *words):
        done = subprocess.run(
            ["beeline", *words], env=self.environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def kill(self, service):
        """Kills keeper and coordinator: systemd kills the rest of a service when its main process
        has died."""
        children = subprocess.run(
            ["pgrep", "-P", str(service.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        ends = [os.pidfd_open(int(child)) for child in children]
        service.kill()
        for end in ends:
            signal.pidfd_send_signal(end, signal.SIGKILL)
            select.select([end], [], [], 60)
            os.close(end)
        service.wait()
        self.manager.catch_up()

    def wait_for_agent(self, name):
        end = time.monotonic() + 60
        while f" {name} " not in self.beeline("tree"):
            self.assertLess(time.monotonic(), end)

    def wait_for_stored(self, prefix, count):
        end = time.monotonic() + 60
        while (found := sum(n.startswith(prefix) for n in list(self.manager.stored))) != count:
            self.assertLess(time.monotonic(), end, f"{found} descriptors of {prefix}")
            time.sleep(0.01)

    def test_the_first_connection_starts_the_hive_and_its_end_leaves_the_socket(self):
        for _ in range(2):
            asker = self.start("beeline", "status")
            self.manager.wait_for_connection()
            service = self.start_service()
            self.assertIn("hive", asker.communicate(timeout=60)[0])
            self.beeline("down")
            self.assertEqual(service.wait(timeout=60), 0)
            self.assertTrue(self.manager.path.is_socket())
        self.assertIn({"STOPPING": "1"}, self.manager.said)

    def test_a_killed_keeper_finds_inboxes_of_agents_that_are_away(self):
        service = self.start_service()
        receiver = self.start("beeline", "recv", "worker")
        self.wait_for_agent("worker")
        receiver.kill()
        receiver.wait()
        self.beeline("send", "worker", "not lost")
        self.kill(service)
        self.start_service()
        self.assertEqual(self.beeline("recv", "worker", "--count", "1"), "not lost\n")

    def test_agents_that_live_go_on_after_keeper_and_coordinator_were_killed(self):
        service = self.start_service()
        receiver = self.start("beeline", "recv", "worker")
        self.wait_for_agent("worker")
        for number in range(3):
            self.beeline("send", "worker", f"message {number}")
            self.assertEqual(receiver.stdout.readline(), f"message {number}\n")
            self.kill(service)
            service = self.start_service()
        self.beeline("send", "worker", "last")
        self.assertEqual(receiver.stdout.readline(), "last\n")
        self.assertNotIn("dead", self.beeline("tree"))

    def test_the_store_holds_what_the_hive_holds_and_nothing_of_one_that_has_ended(self):
        service = self.start_service()
        receiver = self.start("beeline", "recv", "worker", "--temporary")
        self.wait_for_agent("worker")
        # The coordinator knows the agent before the keeper has stored its descriptors.
        self.wait_for_stored("agent/2/", 4)
        self.wait_for_stored("store.", 1)
        receiver.terminate()
        receiver.wait()
        self.beeline("down")
        self.assertEqual(service.wait(timeout=60), 0)
        end = time.monotonic() + 60
        while self.manager.stored:
            self.assertLess(time.monotonic(), end, self.manager.stored)
            time.sleep(0.01)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
