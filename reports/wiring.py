"""The wiring: what joins what, each link coloured by how much of it the step used. A folded cluster shows one link of
each class, with how many are alike."""
import re

from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import FancyArrowPatch

from style import plt, save, shorten

MOST = 200  # links; more are unreadable
TIERS = [(r"(gpu|cpu)\d+$", 0), (r"(nvswitch|switch\d+|pcie|memory)$", 1), (r"socket\d+$", 2), (r"nic\d+$", 3),
         (r"(fabric|leaf\d+|edge\d+|rail\d+|router.*|switch)$", 4), (r"(spine|agg|pod|group)", 5), (r"core", 6)]
# end of a link's name -> the other end, and whether the link leads there
ENDS = [(r"\.nvlink\.(up|down)$", "nvswitch"), (r"\.pcie\.(up|down)$", "pcie"), (r"\.(transmit|receive)$", "fabric"),
        (r"\.(up|down)$", None)]


def ends(name):
    """node0.gpu3.nvlink.up -> (node0.gpu3, node0.nvswitch)"""
    for pattern, other in ENDS:
        match = re.search(pattern, name)
        if not match:
            continue
        near = name[:match.start()]
        host = near.split(".")[0] + "." if near.startswith("node") else ""
        if other is None:
            parts = near.split(".")
            if host:
                other = host + "socket"
            elif len(parts) > 1:
                near, other = parts[0], ".".join(parts[1:])
            else:
                other = "spine"
        elif other != "fabric":
            other = host + other
        return (near, other) if match.group(1) in ("up", "transmit") else (other, near)
    body = re.sub(r"\.nvlink$", "", name)
    host = re.match(r"(node\d+\.)", body)
    left, _, right = body.partition("-")
    if not right:
        return body, "shared"
    return left, (host.group(1) if host and not right.startswith("node") else "") + right


def tier(vertex):
    last = vertex.split(".")[-1]
    return next((level for pattern, level in TIERS if re.match(pattern, last)), 2)


def places(vertices):
    rows = {}
    for vertex in sorted(vertices, key=lambda v: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", v)]):
        rows.setdefault(tier(vertex), []).append(vertex)
    where = {}
    for height, level in enumerate(sorted(rows)):
        for place, vertex in enumerate(rows[level]):
            where[vertex] = ((place + 0.5) / len(rows[level]), height)
    return where


def plot(run, path):
    links = [link for link in run.report["links"] if link["bytes"] > 0][:MOST]
    if not links:
        return False
    wires = [(link, *ends(link["name"])) for link in links]
    where = places({end for _, a, b in wires for end in (a, b)})
    widest = max(sum(1 for x in where.values() if x[1] == level) for level in {y for _, y in where.values()})
    figure, axes = plt.subplots(figsize=(max(9, min(24, 1.3 * widest)), 1.6 + 1.5 * (1 + max(y for _, y in where.values()))),
                                layout="constrained")
    scale = Normalize(0, max(0.01, max(link["utilisation"] for link in links)))
    colours = plt.get_cmap("plasma_r")
    for link, a, b in wires:
        (x0, y0), (x1, y1) = where[a], where[b]
        bend = 0.12 if y0 != y1 else 0.35
        axes.add_patch(FancyArrowPatch((x0, y0), (x1, y1), connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>",
                                       mutation_scale=10, shrinkA=14, shrinkB=14, linewidth=2.2, zorder=1,
                                       color=colours(0.08 + 0.92 * scale(link["utilisation"]))))
        if link.get("copies", 1) > 1:
            side = 0.012 * (1 if y1 >= y0 else -1)
            axes.text((x0 + x1) / 2 - side * 2, (y0 + y1) / 2 + side * 6, f"×{link['copies']}", fontsize=8,
                      ha="center", va="center", color="#444444", zorder=3)
    for vertex, (x, y) in where.items():
        axes.text(x, y, vertex.replace(".", "\n", 1), ha="center", va="center", fontsize=8, zorder=2,
                  bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "#888888"})
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.5, max(y for _, y in where.values()) + 0.5)
    axes.axis("off")
    figure.colorbar(ScalarMappable(scale, colours), ax=axes, fraction=0.03, pad=0.01,
                    label="bytes carried / bytes possible in the step")
    axes.set_title(f"Wiring and its use: {shorten(run.report['scenario'], 70)}")
    save(figure, path)
    return True
