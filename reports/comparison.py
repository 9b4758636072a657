"""Predicted against measured: sums by phase and axis with their errors, and every operation as a point."""
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from style import colour, plt, save, shorten, spread, time_unit

POINTS = 20000


def rows_of(report):
    """(name, predicted, measured, error text) from the step down to its parts."""
    rows = [("step", report["step_time"])]
    rows += [(row["name"], row) for row in report["breakdown"]]
    rows += [(f"{row['name']} operations", row) for row in report["phases"] if row["name"] != "communication"]
    rows += [(f"{row['name']} communication", row) for row in report["axes"]]
    rows = [(name, row) for name, row in rows if row["predicted_s"] > 0 or row["measured_s"] > 0]
    return [(name, row["predicted_s"], row["measured_s"], error_text(row["error_percent"])) for name, row in rows]


def error_text(percent):
    return "not measured" if percent is None else f"{percent:+.1f} %"


def draw_sums(axes, report):
    rows = rows_of(report)
    unit, factor = time_unit(max(max(row[1], row[2]) for row in rows))
    for place, (_, predicted, measured, error) in enumerate(rows):
        axes.barh(-place + 0.2, predicted * factor, height=0.38, color=colour("predicted"))
        axes.barh(-place - 0.2, measured * factor, height=0.38, color=colour("measured"))
        axes.text(max(predicted, measured) * factor, -place, f"  {error}", va="center", fontsize=10)
    axes.set_yticks([-place for place in range(len(rows))], [row[0] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, max(max(row[1], row[2]) for row in rows) * factor * 1.22)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_xlabel(f"time a rank and step [{unit}]")
    axes.set_title("sums, with the error of the prediction")
    axes.grid(axis="x", color="#E5E5E5")
    axes.legend(handles=[Patch(color=colour(name), label=name) for name in ("predicted", "measured")],
                loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)


def draw_points(axes, operations):
    points = [row for row in operations if row[2] > 0 and row[3] > 0]
    if not points:
        axes.text(0.5, 0.5, "no operation has a time on both sides", ha="center", transform=axes.transAxes)
        return
    low = min(min(row[2], row[3]) for row in points) * 0.7
    high = max(max(row[2], row[3]) for row in points) * 1.4
    unit, factor = time_unit(high)
    ends = [low * factor, high * factor]
    axes.fill_between(ends, [0.9 * end for end in ends], [1.1 * end for end in ends], color="#DDDDDD", linewidth=0)
    axes.plot(ends, ends, color="black", linewidth=1)
    kinds = {}
    for phase, axis, predicted, measured in spread(points, POINTS):
        xs, ys = kinds.setdefault(axis or phase, ([], []))
        xs.append(measured * factor)
        ys.append(predicted * factor)
    for kind, (xs, ys) in kinds.items():
        axes.scatter(xs, ys, s=12, alpha=0.55, color=colour(kind), linewidths=0, zorder=3)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"measured [{unit}]")
    axes.set_ylabel(f"predicted [{unit}]")
    axes.set_title(f"{len(points):,} operations")
    handles = [Line2D([], [], marker="o", linestyle="", color=colour(kind), label=kind) for kind in kinds]
    handles.append(Patch(color="#DDDDDD", label="within ±10 %"))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def plot(comparison, path):
    report = comparison.report
    height = max(5.2, 1.8 + 0.46 * len(rows_of(report)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, height), width_ratios=[1.1, 1], layout="constrained")
    draw_sums(left, report)
    draw_points(right, comparison.operations())
    figure.suptitle(f"Predicted against measured: {shorten(report['scenario'], 90)}", x=0.01, ha="left", fontsize=14)
    save(figure, path)
