"""Memory of a device by pipeline stage: what it is at the peak, and how it goes along the step."""
from matplotlib.patches import Patch

from style import CYCLE, byte_text, byte_unit, colour, legend_below, plt, save, shorten, spread, time_unit

PARTS = ["parameters", "gradients", "optimizer", "activations", "workspace"]
CURVES = 6


def draw_bars(axes, memory, factor):
    stages = memory["per_stage"]
    bottom = [0.0] * len(stages)
    for part in PARTS:
        sizes = [stage[part] * factor for stage in stages]
        axes.bar(range(len(stages)), sizes, bottom=bottom, width=0.72, color=colour(part), edgecolor="white",
                 linewidth=0.6)
        bottom = [below + size for below, size in zip(bottom, sizes)]
    step = max(1, len(stages) // 16)
    axes.set_xticks(range(0, len(stages), step), [str(stages[i]["stage"]) for i in range(0, len(stages), step)])
    if len(stages) < 3:
        axes.set_xlim(-1.2, len(stages) + 0.2)
    axes.set_xlabel("pipeline stage")


def draw_capacity(axes, memory, factor):
    """The capacity as a line, where it is not so far above that it would flatten the picture."""
    capacity, peak = memory["capacity_bytes"], memory["peak_bytes"]
    if capacity <= 0:
        return
    if peak < 0.2 * capacity:
        axes.set_title(f"a device has {byte_text(capacity)}", fontsize=10, fontweight="normal", color="#444444",
                       loc="right")
        return
    axes.axhline(capacity * factor, color="black", linewidth=1.4, linestyle=(0, (5, 2)))
    axes.annotate(f"capacity {byte_text(capacity)}", (1, capacity * factor), xycoords=("axes fraction", "data"),
                  xytext=(-4, 4), textcoords="offset points", ha="right", fontsize=10)


def plot(run, path):
    memory = run.report["memory"]
    if not memory["per_stage"]:
        return False
    capacity, peak = memory["capacity_bytes"], memory["peak_bytes"]
    top = max(peak, capacity if peak >= 0.2 * capacity else 0) * 1.12
    unit, factor = byte_unit(peak)
    curves = run.memory()
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.8), width_ratios=[1, 1.5], sharey=True,
                                         layout="constrained")
    draw_bars(left, memory, factor)
    left.set_title("at the peak")
    left.set_ylabel(f"memory of a device [{unit}]")
    left.set_ylim(0, top * factor)
    time, time_factor = time_unit(run.report["step_time_s"])
    lines = []
    for place, stage in enumerate(spread(sorted(curves), CURVES)):
        seconds, sizes = curves[stage]
        lines += right.step([s * time_factor for s in seconds], [b * factor for b in sizes], where="post",
                            color=CYCLE[place], linewidth=1.3, label=f"stage {stage}")
    right.set_title("along the step")
    right.set_xlabel(f"time in the step [{time}]")
    right.set_xlim(0, run.report["step_time_s"] * time_factor)
    for axes in (left, right):
        axes.grid(axis="y", color="#E5E5E5")
    draw_capacity(right, memory, factor)
    if peak >= 0.2 * capacity > 0:
        left.axhline(capacity * factor, color="black", linewidth=1.4, linestyle=(0, (5, 2)))
    fits = "" if memory["fits"] else "  DOES NOT FIT"
    figure.suptitle(f"Memory, {run.title}: {shorten(run.report['scenario'], 70)}{fits}", x=0.01, ha="left")
    used = [part for part in PARTS if any(stage[part] > 0 for stage in memory["per_stage"])]
    legend_below(figure, [Patch(color=colour(part), label=part) for part in used], 3)
    legend_below(figure, lines if len(lines) > 1 else [], 3, left=0.43)
    save(figure, path)
    return True
