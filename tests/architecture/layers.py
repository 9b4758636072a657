"""Keeps the include rule of the tree: who may include whom, and which outside library lives where.

Prints `file:line: … may not include …` for each violation and exits with 1 if there is any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder -> folders it may include (its own always); the numbers of the design are the order of this table
MAY_INCLUDE = {
    "sim/units": [],
    "sim/ops": [],
    "sim/config": ["sim/units"],
    "sim/model": ["sim/config", "sim/ops", "sim/units"],
    "sim/topology": ["sim/config", "sim/ops", "sim/units"],
    "sim/plan": ["sim/ops", "sim/units"],
    "sim/scenario": ["sim/model", "sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "sim/collective": ["sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "sim/cost": ["sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "sim/result": ["sim/scenario", "sim/collective", "sim/cost", "sim/model", "sim/topology", "sim/plan", "sim/config",
                   "sim/ops", "sim/units"],
    "sim/parallel": ["sim/scenario", "sim/model", "sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "sim/build": ["sim/parallel", "sim/scenario", "sim/model", "sim/topology", "sim/plan", "sim/config", "sim/ops",
                  "sim/units"],
    "sim/engine": ["sim/build", "sim/parallel", "sim/result", "sim/collective", "sim/cost", "sim/scenario", "sim/model",
                   "sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "sim/score": ["sim/engine", "sim/build", "sim/parallel", "sim/result", "sim/collective", "sim/cost", "sim/scenario",
                  "sim/model", "sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
    "backend/common": ["sim/result", "sim/scenario", "sim/model", "sim/topology", "sim/plan", "sim/config", "sim/ops",
                       "sim/units"],
    "backend/cpu": ["backend/common", "sim/result", "sim/collective", "sim/cost", "sim/scenario", "sim/model", "sim/topology", "sim/plan",
                    "sim/config", "sim/ops", "sim/units"],
    "backend/cuda": ["backend/common", "sim/result", "sim/scenario", "sim/model", "sim/topology", "sim/plan", "sim/config",
                     "sim/ops", "sim/units"],
    "backend/calibrate": ["backend/cpu", "backend/common", "sim/result", "sim/collective", "sim/cost", "sim/scenario", "sim/model",
                          "sim/topology", "sim/plan", "sim/config", "sim/ops", "sim/units"],
}
# outside library (pattern of the included path) -> the folders that may know it; tests may use what they test uses
OUTSIDE = {
    r"simgrid/|xbt/": ["sim/engine"],
    r"cuda|nccl|cublas|cudnn|nvtx|mma\.h": ["backend/cuda"],
    r"Eigen/": ["backend/cpu"],
    r"mpi\.h": ["backend/common", "backend/cpu", "backend/calibrate"],
    r"boost/program_options": ["sim/verbs", "sim"],
    r"yaml-cpp/": ["sim/config"],
    r"expat": ["sim/config"],
    r"nlohmann/": ["sim/config", "sim/result"],
    r"zlib\.h": ["sim/score"],
    r"catch2/": [],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LONGEST = 400  # lines of a file


def folder_of(path):
    """The folder of the table that a file belongs to: sim/model/families/x.cpp -> sim/model."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def problems_of(path):
    folder = folder_of(path)
    name = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > LONGEST:
        yield f"{name}:{LONGEST + 1}: the file has {len(lines)} lines (at most {LONGEST}). Split it by subject."
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        included = match.group(2)
        for pattern, allowed in OUTSIDE.items():
            known = folder in allowed or folder.split("/")[0] == "tests"
            if match.group(1) == "<" and re.match(pattern, included) and not known:
                yield f"{name}:{number}: {folder} may not include <{included}> (belongs in {', '.join(allowed)})"
        if match.group(1) == '"' and folder in MAY_INCLUDE:
            target = "/".join(pathlib.PurePosixPath(included).parts[:2])
            if target != folder and target not in MAY_INCLUDE[folder]:
                yield f"{name}:{number}: {folder} may not include {included} (allowed: {', '.join(MAY_INCLUDE[folder])})"


def main():
    files = [p for top in ("sim", "backend", "tests", "reports") for ending in ("*.h", "*.cpp", "*.cu", "*.cuh", "*.py")
             for p in sorted((ROOT / top).rglob(ending)) if "runs" not in p.parts]
    found = [problem for path in files for problem in problems_of(path)]
    unknown = sorted({folder_of(p) for p in files if folder_of(p).split("/")[0] in ("sim", "backend")} - set(MAY_INCLUDE)
                     - {"sim", "sim/verbs", "backend"})
    found += [f"{folder}: a folder without a row in {pathlib.Path(__file__).name}" for folder in unknown]
    print("\n".join(found) if found else f"{len(files)} files keep the layer rule")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
