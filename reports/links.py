"""The most used links: share of what each could have carried in the step."""
from matplotlib.patches import Patch

from style import byte_text, colour, legend_below, plt, save, shorten

MOST = 20


def plot(run, path):
    links = run.report["links"][:MOST]
    if not links:
        return False
    figure, axes = plt.subplots(figsize=(12, 1.6 + 0.3 * len(links)), layout="constrained")
    shares = [100 * link["utilisation"] for link in links]
    bars = axes.barh([-place for place in range(len(links))], shares, height=0.7,
                     color=[colour(link["class"]) for link in links])
    notes = []
    for link, share in zip(links, shares):
        alike = f", {link['copies']} alike" if link.get("copies", 1) > 1 else ""
        notes.append(f"{share:.3g} %  ({byte_text(link['bytes'])}{alike})")
    axes.bar_label(bars, labels=notes, padding=4, fontsize=9)
    axes.set_yticks([-place for place in range(len(links))], [shorten(link["name"], 48) for link in links])
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.set_xlim(0, max(max(shares) * 1.3, 1e-9))
    axes.set_ylim(-len(links) + 0.4, 0.6)
    axes.set_xlabel("use: bytes carried / bytes possible in the step [%]")
    axes.set_title(f"The {len(links)} most used links: {shorten(run.report['scenario'], 70)}")
    axes.grid(axis="x", color="#E5E5E5")
    classes = list(dict.fromkeys(link["class"] for link in links))
    legend_below(figure, [Patch(color=colour(name), label=name.replace("_", " ")) for name in classes], 6)
    save(figure, path)
    return True
