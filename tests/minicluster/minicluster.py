#!/usr/bin/env python3
"""Predicted against measured step times on a cluster of network namespaces on this machine.

    tests/minicluster/minicluster.py TRAINWIRE [SCENARIO…]

Each scenario of scenarios/ is simulated, its fabric is built for real (network.py: one namespace a host, cables limited
by tc), and the same scenario is executed on it, one MPI rank a host, over TCP. What a cable does and what a message costs
is measured first, on two hosts under one switch. Needs root and the packages iproute2 and python3-yaml; says so and ends
with status 77 where they are missing. Results: reports/runs/minicluster/.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from network import DATA, MANAGEMENT, Network, address

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "reports" / "runs" / "minicluster"
STEPS = 3


def missing():
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "needs ip and tc (Debian: apt install iproute2)"
    try:
        import yaml  # noqa: F401
    except ImportError:
        return "needs PyYAML (Debian: apt install python3-yaml, and Debian's python3)"
    if subprocess.run(["ip", "netns", "add", "tw-probe"], capture_output=True).returncode != 0:
        return "this kernel or container does not allow network namespaces"
    subprocess.run(["ip", "netns", "delete", "tw-probe"], capture_output=True)
    return None


def bits(quantity):
    number, unit = quantity["value"].split()
    return float(number) * {"Mbit/s": 1e6, "Gbit/s": 1e9}[unit]


def shape_of(scenario):
    """Hosts and cables of a scenario's topology: a fabric of kind graph, link by link."""
    import yaml
    topology = yaml.safe_load(scenario.read_text())["topology"]
    cables = [(*link["between"], bits(link["bandwidth"]), bits(link["bandwidth"])) for link in topology["fabric"]["links"]]
    return topology["nodes"], cables


def write_agent(path):
    """What mpirun calls in place of ssh: runs the rest of its command line in the namespace of the host it names."""
    path.write_text("#!/bin/sh\nhost=$((${1##*.} - 1)); shift\nexec ip netns exec tw-node$host sh -c \"$*\"\n")
    path.chmod(0o755)


def execute(trainwire, scenario, hosts, out):
    agent = OUT / "agent.sh"
    write_agent(agent)
    names = ",".join(address(MANAGEMENT, h) for h in range(hosts))
    # flags 1: sends only; with puts, requests for the next piece queue behind the other direction's data. Small socket
    # buffers: with large ones the switch's queue grows to a second, and acknowledgements wait in it.
    mca = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": 1, "oob_tcp_if_include": f"{MANAGEMENT}.0/24", "pml": "ob1",
           "btl": "tcp,self", "btl_tcp_if_include": f"{DATA}.0/24",
           "btl_tcp_flags": 1, "btl_tcp_sndbuf": 65536, "btl_tcp_rcvbuf": 65536,
           "mpi_yield_when_idle": 1}
    command = ["mpirun", "--allow-run-as-root", "--host", names, "-n", str(hosts)]
    for key, value in mca.items():
        command += ["--mca", key, str(value)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command += [trainwire, "execute", str(scenario), "-o", str(out), "--steps", str(STEPS), "-q"]
    for last in (False, True):  # mpirun's daemons do not always find each other
        try:
            result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=90)
            break
        except subprocess.TimeoutExpired:
            if last:
                raise
    if result.returncode != 0:
        raise RuntimeError(f"{scenario.name}: {result.stderr[-2000:]}")
    return json.loads((out / "report.json").read_text())


def write_host(trainwire, bandwidth, latency, efficiency):
    """This machine's cores, calibrated, behind one port a host: OUT/host.yaml."""
    subprocess.run([trainwire, "calibrate", "--quick", "--force", "-q", "-o", str(OUT)], check=True, capture_output=True)
    text = (OUT / "this-machine.yaml").read_text()
    port = (f"  devices: 1\n  nics: 1\n  nic:\n"
            f"    bandwidth: {{value: {bandwidth / 1e6:g} Mbit/s, assumed: \"tc's rate\"}}\n"
            f"    latency: {{value: {latency * 1e6:.1f} us, measured: \"small and large all-reduces of two hosts\"}}\n"
            f"    efficiency: {{value: {efficiency:.4f}, measured: \"small and large all-reduces of two hosts\"}}\n")
    (OUT / "host.yaml").write_text(re.sub(r"  devices: \d+\n", port, text, count=1))


def spans(folder, kind):
    """Seconds of rank 0's operations of a kind in a run's timeline."""
    rows = csv.DictReader((folder / "timeline.csv").open())
    return [float(r["end_s"]) - float(r["start_s"]) for r in rows if r["rank"] == "0" and r["kind"] == kind]


def calibrate(trainwire):
    """What a cable gives an all-reduce of two, bytes/seconds of all its buckets together, and what a message costs: the
    median time of an activation's way from one stage to the next, less the time of its bytes. -> OUT/host.yaml"""
    large, small = OUT / "ddp2-leaf.yaml", OUT / "pp2-leaf.yaml"
    hosts, cables = shape_of(large)
    rate = cables[0][2]
    write_host(trainwire, rate, 100e-6, 0.9)
    with Network(hosts, cables):
        report = execute(trainwire, large, hosts, OUT / "calibrate")
        bandwidth = 8 * report["memory"]["per_stage"][0]["gradients"] / sum(spans(OUT / "calibrate", "all_reduce"))
        execute(trainwire, small, hosts, OUT / "calibrate")
    message = 8 * 8 * 512 * 4  # bits: 8 samples, 512 fp32 values each
    latency = max(statistics.median(spans(OUT / "calibrate", "recv")) - message / bandwidth, 10e-6)
    print(f"a cable of {rate / 1e6:g} Mbit/s gives all-reduces {bandwidth / 1e6:.1f} Mbit/s; a message costs {latency * 1e6:.0f} us")
    write_host(trainwire, rate, latency, min(1.0, bandwidth / rate))


def compare(trainwire, scenario):
    """-> predicted, measured seconds a step, and the measured steps."""
    hosts, cables = shape_of(scenario)
    out = OUT / scenario.stem
    subprocess.run([trainwire, "simulate", str(scenario), "-o", str(out / "simulate"), "-q"], check=True,
                   capture_output=True)
    predicted = json.loads((out / "simulate" / "report.json").read_text())["step_time_s"]
    with Network(hosts, cables):
        report = execute(trainwire, scenario, hosts, out / "execute")
    return predicted, report["step_time_s"], report["step_times_s"]


def main():
    reason = missing()
    if reason:
        print(f"minicluster: SKIPPED: {reason}", file=sys.stderr)
        return 77
    trainwire, wanted = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    OUT.mkdir(parents=True, exist_ok=True)
    for file in (HERE / "scenarios").glob("*.yaml"):
        shutil.copy(file, OUT)
    calibrate(trainwire)
    errors = []
    print(f"{'scenario':24}{'predicted':>12}{'measured':>12}{'range of the steps':>22}{'error':>10}")
    for file in sorted((HERE / "scenarios").glob("*.yaml")):
        if wanted and file.stem not in wanted:
            continue
        predicted, measured, steps = compare(trainwire, OUT / file.name)
        errors.append(predicted / measured - 1)
        print(f"{file.stem:24}{predicted * 1e3:9.0f} ms{measured * 1e3:9.0f} ms"
              f"{min(steps) * 1e3:10.0f} - {max(steps) * 1e3:6.0f} ms{100 * errors[-1]:+9.1f} %", flush=True)
    median = statistics.median(abs(e) for e in errors)
    print(f"median absolute error of {len(errors)} scenarios: {100 * median:.1f} %")
    return 0 if median <= 0.5 else 1  # the figure is what counts; this only catches what is broken


if __name__ == "__main__":
    sys.exit(main())
