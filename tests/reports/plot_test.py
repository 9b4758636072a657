#!/usr/bin/env python3
"""Draws from tiny hand-made result folders, headless. Exit status 77: skipped, no matplotlib for this Python."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import matplotlib  # noqa: F401
except ImportError:
    print("SKIPPED: no matplotlib for this python3 (Debian, Ubuntu: apt install python3-matplotlib)", file=sys.stderr)
    sys.exit(77)

PLOT = Path(__file__).resolve().parents[2] / "reports" / "plot.py"
COLUMNS = "op_id,rank,stream,phase,axis,kind,name,start_s,end_s\n"


def write_run(folder, kind, slow=1.0):
    """Two ranks: forward, backward, an all-reduce beside it, an update."""
    folder.mkdir(parents=True)
    step = 4.5e-3 * slow
    parts = {"compute": 4e-3 * slow, "exposed_communication": {"data": 0.5e-3 * slow}, "bubble": 0, "other": 0}
    stage = {"stage": 0, "parameters": 4e6, "gradients": 4e6, "optimizer": 8e6, "activations": 2e6, "workspace": 0,
             "peak": 18e6}
    links = [{"name": "node0.memory <&>", "class": "shared_memory", "bytes": 8e6, "busy_s": 1e-3, "utilisation": 0.2,
              "copies": 2}]
    report = {
        "schema": "trainwire.report/1", "scenario": "toy <1> & more", "kind": kind,
        "executor": "simgrid" if kind == "simulated" else "cpu", "world_size": 2, "step_time_s": step,
        "tokens_per_s": 1e5, "tokens_per_s_per_gpu": 5e4, "model_tflops_per_s_per_gpu": 0.02, "mfu": 0.5,
        "breakdown_s": parts,
        "memory": {"capacity_bytes": 20e6, "peak_bytes": 18e6, "fits": True, "per_stage": [stage]},
        "links": links if kind == "simulated" else [], "bound_by": [{"what": "compute: linear", "share": 0.9}],
        "provenance": [{"quantity": "q", "value": "1 GB/s", "origin": "datasheet", "source": "a sheet"}],
        "performance": {"wall_s": 1, "peak_rss_bytes": 1e6, "activities": 10}, "warnings": ["mind <this>"],
    }
    (folder / "report.json").write_text(json.dumps(report))
    rows = [("compute", "forward", "", "linear", '"l, ""one"" linear forward mb 0"', 0, 1),
            ("compute", "backward", "", "linear", "l linear backward mb 0", 1, 3),
            ("data", "communication", "data", "all_reduce", "bucket 0 all_reduce", 2, 3.5),
            ("compute", "update", "", "optimizer", "optimizer update", 3.5, 4.5)]
    lines = [f"r{rank}:{i},{rank},{','.join(map(str, row[:5]))},{row[5] * slow / 1e3},{row[6] * slow / 1e3}\n"
             for rank in (0, 1) for i, row in enumerate(rows)]
    (folder / "timeline.csv").write_text(COLUMNS + "".join(lines))
    (folder / "memory.csv").write_text(f"stage,time_s,bytes\n0,0,16000000\n0,0.001,18000000\n0,{step},16000000\n")


def write_comparison(folder):
    folder.mkdir()
    part = {"name": "forward", "operations": 2, "predicted_s": 1e-3, "measured_s": 1.2e-3, "error_percent": -16.7}
    unmeasured = {"name": "data", "operations": 2, "predicted_s": 1e-3, "measured_s": 0, "error_percent": None}
    report = {
        "schema": "trainwire.comparison/1", "scenario": "toy", "breakdown": [part], "phases": [part],
        "step_time": {"predicted_s": 4.5e-3, "measured_s": 5.4e-3, "error_percent": -16.7, "measured_steps_s": []},
        "axes": [unmeasured], "kinds": [part], "operations_compared": 2,
        "operation_error_percent": {"median": 16.7, "p90": 20}, "worst_operations": [{**part, "rank": 0}],
    }
    (folder / "comparison.json").write_text(json.dumps(report))
    (folder / "comparison.csv").write_text(
        "op_id,rank,stream,phase,axis,kind,name,predicted_s,measured_s,error_s,error_percent\n"
        "r0:0,0,compute,forward,,linear,x,0.001,0.0012,-0.0002,-16.7\n"
        "r0:2,0,data,communication,data,all_reduce,y,0.001,0,0.001,\n")


def plot(*arguments):
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    return subprocess.run([sys.executable, str(PLOT), *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False)


class Plot(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def check_pictures(self, folder, names):
        for name in names:
            self.assertEqual((folder / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n", name)
        self.assertEqual(list(folder.glob("*.tmp")), [])
        page = (folder / "index.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("data:image/png;base64,"), len(names))
        self.assertIsNone(re.search(r'(src|href)="(?!data:)', page), "the page needs nothing from outside")
        self.assertNotIn("<this>", page)
        return page

    def test_one_run_gives_its_pictures_and_a_page_that_stands_alone(self):
        write_run(self.folder / "simulate", "simulated")
        result = plot(self.folder / "simulate")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_pictures(self.folder / "simulate", ["timeline.png", "breakdown.png", "memory.png", "links.png",
                                                       "wiring.png"])

    def test_a_parent_folder_gives_both_runs_and_their_comparison(self):
        write_run(self.folder / "execute", "executed", slow=1.2)
        write_run(self.folder / "simulate", "simulated")
        write_comparison(self.folder / "compare")
        result = plot(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = self.check_pictures(self.folder, ["timeline.png", "breakdown.png", "comparison.png", "memory.png",
                                                 "links.png", "wiring.png"])
        self.assertIn("-16.7 %", page)
        self.assertLess(page.index("predicted (simgrid)"), page.index("measured (cpu)"))

    def test_a_folder_without_results_is_bad_input(self):
        for folder in (self.folder, self.folder / "missing"):
            result = plot(folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn("report.json", result.stderr)
            self.assertNotIn("Traceback", result.stderr)

    def test_a_broken_report_is_named(self):
        write_run(self.folder / "simulate", "simulated")
        (self.folder / "simulate" / "report.json").write_text("{")
        result = plot(self.folder / "simulate")
        self.assertEqual(result.returncode, 2)
        self.assertIn("report.json", result.stderr)


if __name__ == "__main__":
    unittest.main()
