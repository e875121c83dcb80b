"""A program that a user of the installed package could have written: an agent starts itself again
as its child, asks it something, and waits for its end."""

import sys

import beeline.sync


def be_parent() -> None:
    with beeline.sync.attach("parent") as parent:
        parent.spawn("child", [sys.executable, __file__, "child"])
        with parent.request("child", "whose child are you?", timeout=10) as answer:
            assert answer.text == str(parent.pid), answer.text
        end = parent.wait("child", timeout=10)
        print("exit", end.exit_code)


def be_child() -> None:
    with beeline.sync.attach() as child, child.receive(timeout=10) as question:
        question.reply(str(child.parent))


be_child() if sys.argv[1:] == ["child"] else be_parent()
