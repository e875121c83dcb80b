"""A parent gives tasks to two children at once, and hears of their progress.

Prints:
left: 6 words
right: 2 words
8 words in all
"""

import asyncio

import beeline


async def count(run: beeline.TaskRun) -> str:
    words = len(bytes(run.context).split())
    run.log(f"{run.agent.name}: {words} words")
    return str(words)


async def main() -> None:
    async with beeline.attach("boss") as boss:
        async with (
            beeline.attach("left", parent="boss") as left,
            beeline.attach("right", parent="boss") as right,
        ):
            children = [asyncio.create_task(c.serve(print, tasks=count)) for c in (left, right)]
            await asyncio.sleep(0)  # the children begin to serve
            reports: list[str] = []
            results = await boss.execute_all(
                [
                    ("left", beeline.Task("count", context="to be or not to be")),
                    ("right", beeline.Task("count", context="the question")),
                ],
                progress=lambda report: reports.append(report.text),
            )
            print(*sorted(reports), sep="\n")
            total = sum(int(r.text) for r in results if isinstance(r, beeline.TaskResult))
            print(total, "words in all")
            left.stop_serving()
            right.stop_serving()
            await asyncio.gather(*children)


asyncio.run(main())
