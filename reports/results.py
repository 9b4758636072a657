"""Reads what trainwire wrote into a folder: report.json, timeline.csv, memory.csv, links.csv, comparison.json/.csv."""
import csv
import json
from pathlib import Path


class BadFolder(Exception):
    """A folder that holds no results; the text tells what is missing."""


class Run:
    """One simulated or executed run."""

    def __init__(self, folder):
        self.folder = folder
        self.report = read_json(folder / "report.json")
        if self.report.get("schema") != "trainwire.report/1":
            raise BadFolder(f"{folder / 'report.json'}: is no report of trainwire (schema)")

    @property
    def label(self):
        return "predicted" if self.report["kind"] == "simulated" else "measured"

    @property
    def title(self):
        return f"{self.label} ({self.report['executor']})"

    def timeline(self):
        """Rows by rank and stream: {rank: {stream: [(start, end, phase, axis, name), …]}}."""
        ranks = {}
        with open(self.folder / "timeline.csv", newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            next(rows)
            for _, rank, stream, phase, axis, _, name, start, end in rows:
                row = (float(start), float(end), phase, axis, name)
                ranks.setdefault(int(rank), {}).setdefault(stream, []).append(row)
        return ranks

    def memory(self):
        """{stage: ([seconds], [bytes])}"""
        stages = {}
        for row in read_csv(self.folder / "memory.csv"):
            times, sizes = stages.setdefault(int(row["stage"]), ([], []))
            times.append(float(row["time_s"]))
            sizes.append(float(row["bytes"]))
        return stages


class Comparison:
    """What `trainwire compare` wrote."""

    def __init__(self, folder):
        self.folder = folder
        self.report = read_json(folder / "comparison.json")

    def operations(self):
        """(phase, axis, predicted seconds, measured seconds) of each operation."""
        return [(row["phase"], row["axis"], float(row["predicted_s"]), float(row["measured_s"]))
                for row in read_csv(self.folder / "comparison.csv")]


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise BadFolder(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadFolder(f"{path}: is no JSON ({error})") from None


def read_csv(path):
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def find(folders):
    """The runs (predicted ones first) and the comparison in these folders or one level below them."""
    runs, comparisons = [], []
    for folder in folders:
        candidates = [folder]
        if not (folder / "report.json").exists() and not (folder / "comparison.json").exists() and folder.is_dir():
            candidates = sorted(path for path in folder.iterdir() if path.is_dir())
        elif not (folder / "comparison.json").exists() and len(folders) > 1:
            candidates.append(folder.parent / "compare")
        for candidate in candidates:
            if (candidate / "report.json").exists():
                runs.append(Run(candidate))
            if (candidate / "comparison.json").exists() and not any(c.folder == candidate for c in comparisons):
                comparisons.append(Comparison(candidate))
    if not runs and not comparisons:
        names = ", ".join(str(folder) for folder in folders)
        raise BadFolder(f"{names}: no report.json there or one level below. Run trainwire simulate or execute first.")
    runs.sort(key=lambda run: run.report["kind"] != "simulated")
    return runs, comparisons[0] if comparisons else None
