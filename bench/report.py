#!/usr/bin/env -S python3 -B
"""Makes tables, a page with pictures and the Markdown of the targets from rows of beeline-bench.

The rows are lines of JSON: those of `beeline-bench TEST --json`, with the columns of the tables as
`beeline-bench --tables` prints them. The histograms that a row names lie beside its file."""

import argparse
import html
import json
import pathlib
import sys

import pictures
import targets
from rows import BadRows, Column, Table, cell_text, machines_of, read

# The page needs nothing but itself.
PAGE_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Beeline, measured</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8886; }
.left, .note { text-align: left; }
.note { color: #c0392b; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
</style>
<h1>Beeline, measured</h1>
<p>Every figure stands beside the limit of the machine in the same run: a bare round trip of a cache
line between the two pinned processes, or of a futex or eventfd where they sleep. It is measured
before and after; where the two differ by more than 30&nbsp;% the run was done again, a few times,
and then marked. Compare ratios, not nanoseconds.</p>
"""

# The columns of the neighbours' rows that a reader of the Markdown compares.
BETTER_COLUMNS = [
    Column("test", "/kind", is_left=True),
    Column("size", "/size", is_size=True),
    Column("mode", "/mode", is_left=True),
    Column("who", "/peer", is_left=True),
    Column("p50, ns", "/rtt_ns/p50"),
    Column("1000/s", "/messages_per_s", scale=1e-3, digits=1),
    Column("slowest", "/window_messages_per_s/min", scale=1e-3, digits=1),
    Column("fastest", "/window_messages_per_s/max", scale=1e-3, digits=1),
    Column("Beeline: p50, ns", "/beeline_rtt_ns"),
    Column("1000/s", "/beeline_messages_per_s", scale=1e-3, digits=1),
    Column("limit, ns", "/limit_rtt_ns/p50"),
    Column("ratio", "/ratio_to_beeline", digits=2),
]


def cells(table):
    """Yields the cells of each row, and its remark, which is mostly empty."""
    for row in table.rows:
        yield [cell_text(column, row) for column in table.columns], row.get("note", "")


def as_word(value):
    return value if isinstance(value, str) else json.dumps(value)


# ---- The tables as text -------------------------------------------------------------------------


def plain_line(table, texts, note=""):
    line = "".join(
        f" {text:{'<' if column.is_left else '>'}{column.width}}"
        for column, text in zip(table.columns, texts, strict=True)
    )
    return f"{line}  {note}\n" if note else line + "\n"


def plain_text(table):
    text = f"{table.name}: {table.about}\n"
    if table.rows:
        text += "\n" + plain_line(table, (column.title for column in table.columns))
    return text + "".join(plain_line(table, *line) for line in cells(table)) + "\n"


# ---- The page -----------------------------------------------------------------------------------


def escaped(text):
    return html.escape(text, quote=False)


def html_machine(machine):
    lines = "".join(
        f"<tr><th>{escaped(key)}<td>{escaped(as_word(value))}\n" for key, value in machine.items()
    )
    return f"<h2>machine</h2>\n<div class=wide><table>\n{lines}</table></div>\n"


def html_table(table):
    def line(tag, texts):
        return "".join(
            f"<{tag}{' class=left' if column.is_left else ''}>{escaped(text)}"
            for column, text in zip(table.columns, texts, strict=True)
        )

    text = "<div class=wide><table>\n<tr>" + line("th", (each.title for each in table.columns))
    for texts, note in cells(table):
        text += "\n<tr>" + line("td", texts) + (f"<td class=note>{escaped(note)}" if note else "")
    return text + "\n</table></div>\n"


def html_page(machines, tables, drawn):
    """`drawn`: by the name of a table its pictures, and the reasons for those that are missing."""
    text = PAGE_HEAD
    if not machines:
        text += "<p>The rows name no machine; those of <code>limit</code> do.</p>\n"
    text += "".join(map(html_machine, machines))
    for table in tables:
        text += f"<h2>{escaped(table.name)}</h2>\n<p>{escaped(table.about)}</p>\n"
        if table.rows:
            text += html_table(table)
        done, missing = drawn.get(table.name, ([], []))
        text += "".join(f"<p>{picture}\n" for picture in done)
        for why in missing:
            text += f"<p class=note>A picture is missing: {escaped(why)}\n"
    return text + "</html>\n"


# ---- The Markdown -------------------------------------------------------------------------------


def markdown_table(table):
    def line(texts):
        return "".join(f"| {text} " for text in texts) + "|\n"

    text = line([column.title for column in table.columns] + ["note"])
    text += line(["---" if column.is_left else "---:" for column in table.columns] + ["---"])
    for texts, note in cells(table):
        text += line(each.replace("|", "\\|") for each in [*texts, note])
    return text + "\n"


def markdown(rows, machines, reached):
    """The targets, and the neighbours that are better, as text that stands by itself."""
    text = ""
    for machine in machines:
        fields = ", ".join(f"{key}: {as_word(value)}" for key, value in machine.items())
        text += f"Measured on: {fields}.\n\n"
    text += f"{reached.about}\n\n{markdown_table(reached)}"
    if "peers" not in rows:
        return text + "The neighbours were not measured.\n"
    text += (
        f"The rows in which a neighbour is better than Beeline{targets.comparison_text(rows)}. "
        "Ratio: over Beeline's figure; slowest and fastest: of five windows of a stream.\n\n"
    )
    better = Table("better", "", BETTER_COLUMNS, targets.better_rows(rows))
    return text + markdown_table(better) if better.rows else text


# ---- All of it ----------------------------------------------------------------------------------


def better_table(peers, rows):
    """The neighbours that are better than Beeline, with the columns of all rows of neighbours."""
    about = (
        "the rows in which a neighbour is better than Beeline"
        f"{targets.comparison_text(rows)}; {peers.about}"
    )
    return Table("better", about, peers.columns, targets.better_rows(rows))


def write(name, file, text):
    file.write_text(text, encoding="utf-8")
    print(f"{name}: {file}")


def report(paths, out):
    rows, tables = read(paths)
    machines = machines_of(rows)
    about = targets.targets_text(len(machines))
    reached = Table("targets", about, targets.COLUMNS, targets.target_rows(rows))
    better = [better_table(table, rows) for table in tables if table.name == "peers"]
    tables = [reached, *better, *tables]
    print("".join(map(plain_text, tables)), end="")
    drawn = pictures.draw_all(tables)
    write("page", out, html_page(machines, tables, drawn))
    write("targets", out.with_name("targets.md"), markdown(rows, machines, reached))


def main():
    parser = argparse.ArgumentParser(
        description="Makes the targets and their results, tables, and a page with pictures from "
        "rows of beeline-bench --json."
    )
    parser.add_argument(
        "rows",
        nargs="+",
        type=pathlib.Path,
        help="files of rows, or directories of *.jsonl, with the output of beeline-bench --tables",
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        help="the page; by default report.html in the first directory; targets.md goes beside it",
    )
    arguments = parser.parse_args()
    first = arguments.rows[0]
    place = first if first.is_dir() else first.parent
    try:
        report(arguments.rows, arguments.out or place / "report.html")
    except (BadRows, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadRows) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
