"""Where the step goes: one stacked bar a run."""
from matplotlib.patches import Patch

from style import colour, legend_below, plt, save, shorten, text_on, time_text, time_unit


def parts_of(run):
    """(name, colour name, seconds) from compute to other."""
    parts = run.report["breakdown_s"]
    rows = [("compute", "compute", parts["compute"])]
    rows += [(f"exposed {axis} communication", axis, s) for axis, s in parts["exposed_communication"].items()]
    rows += [("pipeline bubble", "bubble", parts["bubble"]), ("other", "other", parts["other"])]
    return [row for row in rows if row[2] > 0]


def plot(runs, path):
    unit, factor = time_unit(max(run.report["step_time_s"] for run in runs))
    figure, axes = plt.subplots(figsize=(12, 1.9 + 0.75 * len(runs)), layout="constrained")
    longest = max(run.report["step_time_s"] for run in runs)
    names = {}
    for place, run in enumerate(runs):
        left = 0.0
        step = run.report["step_time_s"]
        for name, colour_name, seconds in parts_of(run):
            names.setdefault(name, colour_name)
            box = axes.barh(-place, seconds * factor, left=left * factor, height=0.62, color=colour(colour_name),
                            edgecolor="white", linewidth=0.8)
            if seconds > 0.045 * longest:
                text = f"{100 * seconds / step:.0f} %"
                if seconds > 0.09 * longest:
                    text = f"{time_text(seconds)}\n{text}"
                axes.bar_label(box, labels=[text], label_type="center", fontsize=9,
                               color=text_on(colour(colour_name)))
            left += seconds
        axes.text(step * factor, -place, f"  {time_text(step)}", va="center", fontweight="bold")
    axes.set_yticks([-place for place in range(len(runs))], [run.title for run in runs])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, longest * factor * 1.09)
    axes.set_xlabel(f"time, mean over ranks [{unit}]")
    axes.set_title("Where the step goes: " + shorten(runs[0].report["scenario"], 80))
    legend_below(figure, [Patch(color=colour(c), label=n) for n, c in names.items()], 3)
    save(figure, path)
