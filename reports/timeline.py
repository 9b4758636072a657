"""Gantt picture: a lane a stream, grouped by rank; one or two runs above each other on the same time axis."""
import re

from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from style import IDLE, colour, legend_below, plt, save, shorten, spread, text_on, time_text, time_unit

RANKS_SHOWN = 16
PIXELS = 1400  # of the time axis: narrower spans than one are drawn together
FEW = 4  # ranks whose streams are all named
STREAMS = ["compute", "tensor", "context", "expert", "data", "pipeline_send", "pipeline_receive"]


def kind_of(phase, axis):
    return axis if axis else phase


def stream_order(stream):
    name = stream.replace("-", "_").replace(" ", "_")
    return STREAMS.index(name) if name in STREAMS else len(STREAMS)


def drawn_together(rows, pixel):
    """Spans by kind; neighbours of a kind that touch and are narrower than a pixel become one."""
    spans = {}
    for start, end, phase, axis, _ in rows:
        boxes = spans.setdefault(kind_of(phase, axis), [])
        if boxes and start - boxes[-1][1] < pixel / 2 and (end - start < pixel or boxes[-1][2]):
            boxes[-1] = (boxes[-1][0], max(end, boxes[-1][1]), end - start < pixel)
        else:
            boxes.append((start, end, end - start < pixel))
    return spans


def micro_batches(rows):
    """Runs of computing operations of one micro-batch: (start, end, phase, micro-batch)."""
    result = []
    for start, end, phase, _, name in rows:
        found = re.search(r"\bmb (\d+)", name)
        batch = found.group(1) if found else None
        if result and result[-1][2:] == (phase, batch):
            result[-1] = (result[-1][0], end, phase, batch)
        else:
            result.append((start, end, phase, batch))
    return [run for run in result if run[3] is not None]


def draw_lane(axes, rows, bottom, height, end, factor, font):
    axes.broken_barh([(0, end * factor)], (bottom, height), color=IDLE, linewidth=0, zorder=1)
    pixel = end / PIXELS
    for kind, boxes in drawn_together(rows, pixel).items():
        corners = []
        for start, stop, _ in boxes:
            left, right = start * factor, max(stop, start + pixel / 2) * factor
            corners.append([(left, bottom), (right, bottom), (right, bottom + height), (left, bottom + height)])
        edges = ["white" if stop - start > 5 * pixel else "none" for start, stop, _ in boxes]
        axes.add_collection(PolyCollection(corners, facecolors=colour(kind), edgecolors=edges, linewidths=0.4,
                                           zorder=2))
    if font < 6:
        return
    for start, stop, phase, batch in micro_batches(rows):
        if stop - start > (6 + 6 * len(batch)) * pixel:
            axes.text((start + stop) / 2 * factor, bottom + height / 2, batch, ha="center", va="center", fontsize=font,
                      color=text_on(colour(phase)), zorder=3, clip_on=True,
                      path_effects=[withStroke(linewidth=2.5, foreground=colour(phase))])


def lanes_of(ranks):
    """(rank, stream, rows, height) from top to bottom; communication is thinner, more so with many ranks."""
    lanes = []
    thin = 0.45 if len(ranks) <= FEW else 0.25
    for rank in ranks:
        for stream in sorted(ranks[rank], key=stream_order):
            rows = ranks[rank][stream]
            if any(end > start for start, end, *_ in rows):
                lanes.append((rank, stream, rows, 1.0 if stream == "compute" else thin))
    return lanes


def draw_run(axes, run, ranks, total, end, unit, factor):
    lanes = lanes_of(ranks)
    few = len(ranks) <= FEW
    bottom, ticks, labels = 0.0, [], []
    previous = None
    for rank, stream, rows, height in lanes:
        bottom -= height + (0.35 if previous not in (None, rank) else 0.04)
        draw_lane(axes, rows, bottom, height, end, factor, 8 if stream == "compute" else 0)
        if few or rank != previous:
            name = stream.replace("_", " ")
            ticks.append(bottom + height / 2)
            labels.append((f"rank {rank}  {name}" if rank != previous else name) if few else f"rank {rank}")
        previous = rank
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0, labelsize=10 if few else 9)
    axes.set_ylim(bottom - 0.1, 0.1)
    axes.set_xlim(0, end * factor)
    axes.spines["left"].set_visible(False)
    step = run.report["step_time_s"]
    axes.axvline(step * factor, color="black", linewidth=1.2, linestyle=(0, (4, 2)), zorder=4)
    shown = "" if len(ranks) == total else f"; {len(ranks)} of {total} ranks of the file shown"
    axes.set_title(f"{run.title}: step {time_text(step)}{shown}")
    axes.set_xlabel(f"time in the step [{unit}]")
    return {kind_of(phase, axis) for *_, rows, _ in lanes for _, _, phase, axis, _ in rows}


def plot(runs, path):
    tables = [run.timeline() for run in runs]
    end = max(run.report["step_time_s"] for run in runs) * 1.005
    unit, factor = time_unit(end)
    shown = [{rank: table[rank] for rank in spread(sorted(table), RANKS_SHOWN // len(runs))} for table in tables]
    heights = [0.5 + sum(height * 0.34 + 0.03 for *_, height in lanes_of(ranks)) for ranks in shown]
    figure, all_axes = plt.subplots(len(runs), 1, figsize=(14, sum(heights) + 0.9 * len(runs) + 0.8), squeeze=False,
                                    gridspec_kw={"height_ratios": heights}, layout="constrained")
    kinds = set()
    for axes, run, table, ranks in zip(all_axes[:, 0], runs, tables, shown):
        kinds |= draw_run(axes, run, ranks, len(table), end, unit, factor)
    order = ["forward", "backward", "update", "tensor", "context", "expert", "data", "pipeline"]
    names = [kind for kind in order if kind in kinds] + sorted(kinds - set(order))
    handles = [Patch(color=colour(kind), label=kind if kind in order[:3] else f"{kind} communication")
               for kind in names]
    handles.append(Patch(color=IDLE, label="idle"))
    figure.suptitle(shorten(runs[0].report["scenario"], 110), fontsize=14, x=0.01, ha="left")
    legend_below(figure, handles, 8)
    save(figure, path)
