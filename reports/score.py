#!/usr/bin/env python3
"""The picture of a score: predicted over measured, a point a row, a colour a table (or a source of a table).

  score.py reports/runs/score          reads score.json and rows.csv there, draws score.png there
"""
import csv
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
try:
    import style
    from style import plt
except ImportError as error:
    if "matplotlib" not in str(error):
        raise
    sys.exit("score: matplotlib is missing for this Python (Debian, Ubuntu: apt install python3-matplotlib, "
             "and run /usr/bin/python3)")
from matplotlib.lines import Line2D

MOST_SOURCES = 8
MOST_POINTS = 4000  # of a source: more cover each other


def read_rows(folder):
    """Points by source: the tables, or where there is one table alone its groups."""
    with open(folder / "rows.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["predicted_s"]]
    key = "table" if len({row["table"] for row in rows}) > 1 else "group"
    sources = {}
    for row in rows:
        sources.setdefault(row[key] or row["table"], []).append((float(row["measured_s"]), float(row["predicted_s"])))
    ordered = sorted(sources.items(), key=lambda item: -len(item[1]))
    shown, rest = ordered[:MOST_SOURCES - 1], ordered[MOST_SOURCES - 1:]
    if len(rest) == 1:
        shown += rest
    elif rest:
        shown.append((f"{len(rest)} others", [point for _, points in rest for point in points]))
    return shown


def draw(folder):
    sources = read_rows(folder)
    overall = json.loads((folder / "score.json").read_text(encoding="utf-8"))["overall"]
    if not sources:
        sys.exit(f"score: {folder}: no row has a prediction, there is nothing to draw")
    every = [x for _, points in sources for point in points for x in point]
    low, high = min(every) / 1.3, max(every) * 1.3
    figure, axes = plt.subplots(figsize=(7.5, 7))
    axes.fill_between([low, high], [0.9 * low, 0.9 * high], [1.1 * low, 1.1 * high], color=style.IDLE, linewidth=0)
    axes.plot([low, high], [low, high], color="#777777", linewidth=1)
    handles = []
    for (name, points), colour in zip(sources, style.CYCLE):
        few = style.spread(points, MOST_POINTS)
        axes.plot([x for x, _ in few], [y for _, y in few], "o", color=colour, alpha=0.5, markersize=3.5,
                  markeredgewidth=0)
        handles.append(Line2D([], [], marker="o", linestyle="", color=colour,
                              label=f"{style.shorten(name, 34)} ({len(points)})"))
    handles.append(Line2D([], [], color=style.IDLE, linewidth=8, label="within 10 %"))
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal",
             xlabel="measured, s", ylabel="predicted, s")
    axes.set_title("Predicted over measured")
    missed = overall["rows"] - overall["predicted"]
    axes.text(0.03, 0.97, f"{overall['predicted']:,} rows predicted, {missed:,} missed\n"
              f"MAPE {overall['mape_percent']:.1f} %, median {overall['median_percent']:.1f} %, "
              f"bias {overall['bias_percent']:+.1f} %", transform=axes.transAxes, va="top")
    style.legend_below(figure, handles, 2, 0.1)
    style.save(figure, folder / "score.png")
    print(folder / "score.png")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    if not (folder / "score.json").exists():
        sys.exit(f"score: {folder} has no score.json: trainwire score writes one")
    draw(folder)


if __name__ == "__main__":
    main()
