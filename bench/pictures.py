"""Pictures of rows and of histograms, drawn by gnuplot."""

import dataclasses
import itertools
import re
import shutil
import subprocess
import sys

from rows import Column, cell_text, number_at, value_at

# Readable on white and on black. Lines beyond the last colour have the next dashes.
COLOURS = ("#2f7ed8", "#d9622b", "#2a9d5c", "#9b59b6", "#b8860b", "#808080")
# The key lies below the plot, a row for each line: its labels are of any length.
PLOT_HEIGHT = 340
KEY_ROW_HEIGHT = 18
LOG_FROM = 20.0  # an axis that spans more than this factor is logarithmic


@dataclasses.dataclass
class Plot:
    """A picture of some rows: one line for each of `lines` and each value of `group`."""

    title: str
    x: str  # JSON pointer into a row
    x_label: str
    y_label: str
    lines: dict  # from the label to a JSON pointer
    group: str = ""  # JSON pointer; empty: all rows belong together
    scale: float = 1.0


BY_SIZE, BY_DEPTH = ("/size", "bytes of payload"), ("/depth", "messages in the inbox")
BY_AGENTS = ("/agents", "agents")
ROUND_TRIP = {"message": "/rtt_ns/p50", "limit": "/limit_rtt_ns/p50"}
ATTACHING = {"attach": "/attach_us/p50", "open a link": "/link_us/p50"}
OF_A_PARENT = {
    "with the first child": "/first_rtt_ns",
    "with the last child": "/last_rtt_ns",
    "limit": "/limit_rtt_ns/p50",
}
STREAM, TAKE = {"messages": "/messages_per_s"}, {"take": "/take_ns/p50"}
# By the name of a table.
PLOTS = {
    "latency": [Plot("Round trip, p50", *BY_SIZE, "ns", ROUND_TRIP, "/how")],
    "throughput": [Plot("One way, messages a second", *BY_SIZE, "million/s", STREAM, "/how", 1e-6)],
    "inbox": [Plot("Taking from a deep inbox, p50", *BY_DEPTH, "ns", TAKE)],
    "scale": [
        Plot("Attaching, p50", *BY_AGENTS, "us", ATTACHING),
        Plot("Round trips of a parent, p50", *BY_AGENTS, "ns", OF_A_PARENT),
    ],
}

# The x axis of a curve of percentiles is 1 / (1 - percentile).
PERCENTILE_AXIS = (
    'set logscale x\nset xtics ("0" 1, "50" 2, "90" 10, "99" 100, "99.9" 1000, "99.99" 10000, '
    '"99.999" 100000, "99.9999" 1000000, "99.99999" 10000000)\n'
)


def drawable(lines):
    """The lines that have at least two places on the x axis, by their label."""
    return {
        label: points
        for label, points in sorted(lines.items())
        if points and points[0][0] != points[-1][0]
    }


def lines_of(plot, rows):
    lines = {}
    for row in rows:
        x = number_at(row, plot.x)
        group = cell_text(Column("", plot.group), row) + ": " if plot.group else ""
        for label, pointer in plot.lines.items():
            y = number_at(row, pointer)
            if x is not None and y is not None:
                lines.setdefault(group + label, []).append((x, y * plot.scale))
    return drawable({label: sorted(points) for label, points in lines.items()})


def spans_much(values):
    return min(values) > 0.0 and max(values) > LOG_FROM * min(values)


def axes_text(lines):
    xs, ys = zip(*(point for points in lines.values() for point in points), strict=True)
    return ("set logscale x\n" if spans_much(xs) else "") + (
        "set logscale y\n" if spans_much(ys) else "set yrange [0:*]\n"
    )


def quoted(text):
    return '"' + text.replace('"', "'") + '"'


def head_text(title, x_label, y_label, name, count):
    return (
        f"set terminal svg size 640,{PLOT_HEIGHT + count * KEY_ROW_HEIGHT} dynamic "
        f'font "sans-serif,12" name "{name}"\n'
        f"set title {quoted(title)} noenhanced\n"
        f"set xlabel {quoted(x_label)} noenhanced\n"
        f"set ylabel {quoted(y_label)} noenhanced\n"
        "set key below Left reverse maxcols 1 noenhanced\nset grid\n"
    )


def lines_text(lines, style):
    """The data of the lines, and the command that draws them."""
    data, commands = "", []
    for number, (label, points) in enumerate(lines.items()):
        data += f"$line{number} << END\n" + "".join(f"{x} {y}\n" for x, y in points) + "END\n"
        dashes, colour = divmod(number, len(COLOURS))
        commands.append(
            f'$line{number} using 1:2 with {style} lw 2 lc rgb "{COLOURS[colour]}" '
            f"dt {1 + dashes} title {quoted(label)}"
        )
    return f"{data}plot {', '.join(commands)}\n"


def plot_script(plot, rows, name):
    """The program that draws a plot of those rows; empty if there is no line. `name` keeps its
    parts apart from those of other pictures on the page."""
    lines = lines_of(plot, rows)
    if not lines:
        return ""
    head = head_text(plot.title, plot.x_label, plot.y_label, name, len(lines))
    return head + axes_text(lines) + lines_text(lines, "linespoints pt 7 ps 0.5")


def percentile_points(text):
    """The lines of a text of HdrHistogram as (1 / (1 - percentile), value); none for any other
    text. At percentile 1 the former is the count of all, or that of the line before if it is more.
    """
    points = []
    for line in text.splitlines():
        try:
            value, share, count = map(float, line.split()[:3])
        except ValueError:  # head and foot
            continue
        reached = points[-1][0] if points else 1.0
        points.append((1.0 / (1.0 - share) if share < 1.0 else max(count, reached), value))
    return points


def curve_script(row, name):
    """The same for the percentiles of a row and of its limit; empty if it has no histogram."""
    lines = {}
    for key, label in (("hist", "measured"), ("limit_hist", "limit")):
        if key in row and row[key].exists():
            points = percentile_points(row[key].read_text(encoding="utf-8"))
            # A clock that ticks more slowly than a thing happens says 0, which has no logarithm.
            lines[label] = [point for point in points if point[1] > 0.0]
    lines = drawable(lines)
    if not lines:
        return ""
    title = ", ".join(
        cell_text(column, row)
        for column in (
            Column("", "/depth"),
            Column("", "/size", is_size=True),
            Column("", "/payload"),
            Column("", "/by"),
            Column("", "/how" if "how" in row else "/mode"),
        )
        if value_at(row, column.value) is not None
    )
    head = head_text(f"Percentiles: {title}", "percentile", "ns", name, len(lines))
    return head + axes_text(lines) + PERCENTILE_AXIS + lines_text(lines, "lines")


class NotDrawn(Exception):
    """The text is the reason."""


def draw(script):
    """Returns the picture, in which black is the colour of the text around it."""
    command = ["gnuplot", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    start = done.stdout.find("<svg")  # the page has a head of its own
    # A picture that gnuplot draws while it complains is not the one that was asked for.
    if done.returncode != 0 or start < 0 or done.stderr:
        raise NotDrawn(f"gnuplot ended with {done.returncode} and said: {done.stderr}")
    return re.sub("\"black\"|'black'", '"currentColor"', done.stdout[start:])


def scripts_of(table):
    """The programs of all pictures of a table."""
    names = (f"{table.name}{number}_" for number in itertools.count())
    scripts = [plot_script(plot, table.rows, next(names)) for plot in PLOTS.get(table.name, [])]
    scripts += [curve_script(row, next(names)) for row in table.rows]
    return filter(None, scripts)


def draw_all(tables):
    """Returns, by the name of a table, its pictures and the reasons for those that are missing."""
    if shutil.which("gnuplot") is None:
        print("no pictures: there is no gnuplot; scripts/setup bench installs it", file=sys.stderr)
        return {}
    drawn = {table.name: ([], []) for table in tables}
    for table in tables:
        pictures, missing = drawn[table.name]
        for script in scripts_of(table):
            try:
                pictures.append(draw(script))
            except NotDrawn as why:
                missing.append(str(why))
                print(f"{table.name}: a picture is missing: {why}", file=sys.stderr)
    return drawn
