"""Hosts, switches and cables out of network namespaces, bridges and veth pairs, each cable end limited by tc.

A shape is (hosts, cables): `hosts` a number; `cables` a list of (end, end, bits per second from the first end, bits per
second from the second end). Ends are "node0" … or names of switches. Each host has one more, unlimited port on a bridge
for the launcher, so that starting ranks does not disturb what is measured.
"""
import subprocess

DATA, MANAGEMENT = "10.77.1", "10.77.2"
PREFIX = "tw"


def run(command, check=True):
    result = subprocess.run(command.split(), capture_output=True, text=True)
    if check and result.returncode != 0:
        raise RuntimeError(f"{command}: {result.stderr.strip()}")
    return result.stdout


def namespace(host):
    return f"{PREFIX}-node{host}"


def address(net, host):
    return f"{net}.{host + 1}"


def limit(device, rate, inside=None):
    # Short bursts, and a queue so long that nothing is dropped: TCP then keeps the cable full both ways at once.
    # Packets larger than the burst (veth makes some of 64 KiB) are cut by tbf itself.
    where = f"ip netns exec {inside} " if inside else ""
    run(f"{where}tc qdisc add dev {device} root tbf rate {int(rate)}bit burst {16 * 1514}b latency 1000ms")


class Network:
    def __init__(self, hosts, cables):
        self.hosts, self.cables = hosts, cables
        self.down()
        self.switches = sorted({e for c in cables for e in c[:2] if not e.startswith("node")})
        for host in range(hosts):
            run(f"ip netns add {namespace(host)}")
            run(f"ip netns exec {namespace(host)} ip link set lo up")
        self._bridge("m")
        run(f"ip addr add {MANAGEMENT}.254/24 dev {PREFIX}-m")
        for i in range(len(self.switches)):
            self._bridge(f"s{i}")
        for host in range(hosts):
            self._cable(f"m{host}", self._end(f"node{host}", "mgmt", MANAGEMENT), ("m", None), None, None)
        for i, (a, b, forth, back) in enumerate(cables):
            self._cable(f"c{i}", self._end(a, "data", DATA), self._end(b, "data", DATA), forth, back)

    def _bridge(self, name):
        run(f"ip link add {PREFIX}-{name} type bridge")
        run(f"ip link set {PREFIX}-{name} up")

    # (what it is plugged into, address): a host's namespace, or a switch's bridge.
    def _end(self, name, port, net):
        if name.startswith("node"):
            host = int(name[4:])
            return (namespace(host), port, f"{address(net, host)}/24")
        return (f"s{self.switches.index(name)}", None)

    def _cable(self, name, a, b, forth, back):
        ends = [f"{PREFIX}-{name}a", f"{PREFIX}-{name}b"]
        run(f"ip link add {ends[0]} type veth peer name {ends[1]}")
        for device, end, rate in ((ends[0], a, forth), (ends[1], b, back)):
            inside = None
            if end[1] is None:
                run(f"ip link set {device} master {PREFIX}-{end[0]}")
                run(f"ip link set {device} up")
            else:
                inside = end[0]
                run(f"ip link set {device} netns {inside}")
                run(f"ip netns exec {inside} ip link set {device} name {end[1]}")
                run(f"ip netns exec {inside} ip addr add {end[2]} dev {end[1]}")
                run(f"ip netns exec {inside} ip link set {end[1]} up")
                device = end[1]
            if rate:
                limit(device, rate, inside)

    @staticmethod
    def down():
        for line in run("ip netns list", check=False).splitlines():
            name = line.split()[0]
            if name.startswith(f"{PREFIX}-node"):
                run(f"ip netns delete {name}", check=False)
        for line in run("ip -o link show type bridge", check=False).splitlines():
            name = line.split(":")[1].strip()
            if name.startswith(f"{PREFIX}-"):
                run(f"ip link delete {name}", check=False)
        for line in run("ip -o link show type veth", check=False).splitlines():
            name = line.split(":")[1].strip().split("@")[0]
            if name.startswith(f"{PREFIX}-"):
                run(f"ip link delete {name}", check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()
