"""Colours, fonts and units shared by all pictures. Colours: Okabe and Ito (2008), safe for colour-blind people."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = {
    "forward": "#56B4E9",
    "backward": "#0072B2",
    "update": "#009E73",
    "tensor": "#E69F00",
    "data": "#D55E00",
    "pipeline": "#CC79A7",
    "context": "#F0E442",
    "expert": "#000000",
    "compute": "#0072B2",
    "bubble": "#D9D9D9",
    "other": "#999999",
    "parameters": "#0072B2",
    "gradients": "#E69F00",
    "optimizer": "#009E73",
    "activations": "#56B4E9",
    "workspace": "#CC79A7",
    "predicted": "#56B4E9",
    "measured": "#E69F00",
    "nvlink": "#009E73",
    "pcie": "#0072B2",
    "host_bus": "#56B4E9",
    "nic": "#D55E00",
    "fabric": "#CC79A7",
    "shared_memory": "#E69F00",
}
IDLE = "#EFEFEF"
CYCLE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#F0E442"]

plt.rcParams.update({
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.15,
})


def colour(name):
    return COLOURS.get(name.replace("-", "_"), "#999999")


def text_on(background):
    """Black or white, whichever reads better on the colour (ITU-R BT.601 luma)."""
    red, green, blue = (int(background[i:i + 2], 16) for i in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def time_unit(seconds):
    """Unit and its factor for an axis that reaches to `seconds`."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 2:
            return unit, factor
    return "µs", 1e6


def byte_unit(count):
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 2 ** power:
            return unit, 2.0 ** -power
    return "bytes", 1.0


def time_text(seconds):
    if seconds == 0:
        return "0 s"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if abs(seconds) * factor >= 0.9995:
            break
    return f"{three_digits(seconds * factor)} {unit}"


def byte_text(count):
    unit, factor = byte_unit(count)
    return f"{three_digits(count * factor)} {unit}"


def three_digits(value):
    if value == 0:
        return "0"
    for limit, form in ((9.995, "{:.2f}"), (99.95, "{:.1f}")):
        if abs(value) < limit:
            return form.format(value)
    return f"{value:,.0f}"


def shorten(text, most):
    return text if len(text) <= most else text[:most - 1] + "…"


def spread(items, most):
    """At most `most` of them, evenly, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def legend_below(figure, handles, columns, left=0.0):
    """Below the figure's edge, where it can cover nothing; saving with a tight box takes it in."""
    if handles:
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(left, 0.0), ncols=min(len(handles), columns),
                      frameon=False)


def save(figure, path):
    """Written beside and renamed: nobody sees half a picture."""
    beside = path.with_name(path.name + ".tmp")
    figure.savefig(beside, format="png")
    plt.close(figure)
    beside.replace(path)
