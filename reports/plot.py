#!/usr/bin/env python3
"""Pictures and one HTML page from the folders that trainwire wrote.

  plot.py reports/runs/quickstart                 simulate/, execute/ and compare/ in it, page in the folder itself
  plot.py reports/runs/NAME/simulate              one run
  plot.py PREDICTED MEASURED -o FOLDER            two runs above each other
"""
import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
try:
    import breakdown
    import comparison as compared
    import links
    import memory
    import page
    import timeline
    import wiring
except ImportError as error:
    if "matplotlib" not in str(error):
        raise
    sys.exit("plot: matplotlib is missing for this Python (Debian, Ubuntu: apt install python3-matplotlib, "
             "and run /usr/bin/python3)")
from results import BadFolder, find


def draw(runs, comparison, folder):
    """Draws what there is data for; returns (file, title, words)."""
    drawn = []

    def add(name, title, words, plot, *data):
        path = folder / name
        if plot(*data, path) is not False:
            drawn.append((path, title, words))

    if runs:
        add("timeline.png", "Timeline", "operations of each rank and stream along the step", timeline.plot, runs[:2])
        add("breakdown.png", "Where the step goes", "stacked bars of compute, exposed communication, bubble",
            breakdown.plot, runs)
    if comparison:
        add("comparison.png", "Predicted against measured", "errors by phase and axis, scatter of operation times",
            compared.plot, comparison)
    if runs:
        add("memory.png", "Memory", "memory by stage at the peak and along the step", memory.plot, runs[0])
        add("links.png", "Links", "the most used links", links.plot, runs[0])
        add("wiring.png", "Wiring", "what joins what, coloured by use", wiring.plot, runs[0])
    return drawn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, help="where to write (default: the folder, or what two share)")
    arguments = parser.parse_args()
    try:
        runs, comparison = find(arguments.folders)
        output = arguments.output or Path(os.path.commonpath([folder.resolve() for folder in arguments.folders]))
        output.mkdir(parents=True, exist_ok=True)
        page.write(output / "index.html", runs, comparison, draw(runs, comparison, output))
    except BadFolder as error:
        print(f"plot: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"plot: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(output / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
