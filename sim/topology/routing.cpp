// Routes of one host by Dijkstra's algorithm, and their composition with the fabric's.
#include "sim/topology/routing.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace trainwire {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The edges of the way from the tree's root to `target`, in order.
std::vector<int> links_to(const RouteTree& tree, const std::vector<HostGraph::Edge>& edges, int target) {
  std::vector<int> links;
  for (int vertex = target; tree.edge[at(vertex)] >= 0; vertex = edges[at(tree.edge[at(vertex)])].from)
    if (const int link = edges[at(tree.edge[at(vertex)])].link; link >= 0) links.push_back(link);
  std::reverse(links.begin(), links.end());
  return links;
}

}  // namespace

int HostGraph::add_vertex(const std::string& vertex_name) {
  vertices.push_back(vertex_name);
  return static_cast<int>(vertices.size()) - 1;
}

void HostGraph::connect(int a, int b) {
  edges.push_back({a, b, -1});
  edges.push_back({b, a, -1});
}

void HostGraph::add_link(int from, int to, const std::string& link_name, const Link& link) {
  edges.push_back({from, to, static_cast<int>(links.size())});
  links.push_back(link);
  links.back().name = link_name;
}

RouteTree route_tree(const std::vector<HostGraph::Edge>& edges, const std::vector<Link>& links, int vertices, int root,
                     const std::function<bool(int)>& passes) {
  using Cost = std::tuple<int, double, int>;  // links, seconds, last link
  std::vector<std::vector<int>> leaving(at(vertices));
  for (std::size_t e = 0; e < edges.size(); ++e) leaving[at(edges[e].from)].push_back(static_cast<int>(e));
  std::vector<Cost> best(at(vertices), Cost{INT32_MAX, 0, 0});
  RouteTree tree{std::vector<int>(at(vertices), -1), std::vector<bool>(at(vertices), false)};
  std::priority_queue<std::pair<Cost, int>, std::vector<std::pair<Cost, int>>, std::greater<>> open;
  best[at(root)] = {0, 0, -1};
  open.push({best[at(root)], root});
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (tree.reached[at(vertex)]) continue;
    tree.reached[at(vertex)] = true;
    if (vertex != root && !passes(vertex)) continue;
    for (const int e : leaving[at(vertex)]) {
      const auto [from, to, link] = edges[at(e)];
      Cost next = cost;
      if (link >= 0) next = {std::get<0>(cost) + 1, std::get<1>(cost) + links[at(link)].latency.value.value, link};
      if (tree.reached[at(to)] || next >= best[at(to)]) continue;
      best[at(to)] = next;
      tree.edge[at(to)] = e;
      open.push({next, to});
    }
  }
  return tree;
}

Routing::Table Routing::make_table(const HostGraph& host, int used) {
  const int ends = used + host.nics;
  Table table(at(ends * ends));
  const auto vertex_of = [&](int end) { return end < used ? end : host.nic(end - used); };
  const int vertices = static_cast<int>(host.vertices.size());
  const auto is_switch = [&](int v) {
    return v >= host.devices + host.nics || (host.devices_pass && v < host.devices);
  };
  const auto is_relay = [&](int v) { return is_switch(v) || (host.relay && v < host.devices); };
  for (int from = 0; from < ends; ++from) {
    const RouteTree direct = route_tree(host.edges, host.links, vertices, vertex_of(from), is_switch);
    const RouteTree relayed = route_tree(host.edges, host.links, vertices, vertex_of(from), is_relay);
    for (int to = 0; to < ends; ++to) {
      const RouteTree& tree = from < used && to < used ? direct : relayed;
      const int target = vertex_of(to);
      table[at(from * ends + to)] = {tree.reached[at(target)], links_to(tree, host.edges, target)};
    }
  }
  return table;
}

Routing::Routing(const HostGraph& host, int used, FabricRoutes fabric)
    : host_(host),
      used_(used),
      nics_(host.nics),
      links_per_host_(static_cast<int>(host.links.size())),
      table_(make_table(host, used)),
      transmit_(host.transmit),
      receive_(host.receive),
      fabric_(std::move(fabric)) {
  choose_nearest(host);
}

std::shared_ptr<const Routing> Routing::without(Failed failed) const {
  auto result = std::make_shared<Routing>(*this);
  result->failed_ = std::move(failed);
  std::map<int, std::vector<int>> by_node;
  for (const LinkId link : result->failed_) by_node[link / links_per_host_].push_back(link % links_per_host_);
  for (const auto& [node, links] : by_node) {
    HostGraph host = host_;  // a fabric's links are numbered beyond all hosts: such a node is never asked for
    std::erase_if(host.edges, [&](const HostGraph::Edge& e) {
      return std::find(links.begin(), links.end(), e.link) != links.end();
    });
    result->damaged_[node] = make_table(host, used_);
  }
  return result;
}

const Routing::Table& Routing::table(int node) const {
  if (damaged_.empty()) return table_;
  const auto found = damaged_.find(node);
  return found == damaged_.end() ? table_ : found->second;
}

bool Routing::works(const std::vector<LinkId>& links, std::size_t first) const {
  return std::none_of(links.begin() + static_cast<std::ptrdiff_t>(first), links.end(),
                      [&](LinkId link) { return std::binary_search(failed_.begin(), failed_.end(), link); });
}

// The port that the fewest links lead to, then the least latency; devices that see several equally near ones take
// turns.
void Routing::choose_nearest(const HostGraph& host) {
  std::map<std::vector<int>, int> turns;
  for (int device = 0; device < used_; ++device) {
    std::vector<int> near;
    std::pair<std::size_t, double> least{SIZE_MAX, 0};
    for (int nic = 0; nic < nics_; ++nic) {
      const Local& way = between(-1, device, used_ + nic);
      if (!way.exists) continue;
      double seconds = 0;
      for (const int link : way.links) seconds += host.links[at(link)].latency.value.value;
      const std::pair<std::size_t, double> distance{way.links.size(), seconds};
      if (distance < least) near.clear();
      if (distance <= least) near.push_back(nic);
      least = std::min(least, distance);
    }
    nearest_.push_back(near.empty() ? -1 : near[at(turns[near]++) % near.size()]);
  }
}

bool Routing::append(const Local& local, int node, std::vector<LinkId>& links) const {
  for (const int link : local.links) links.push_back(node * links_per_host_ + link);
  return local.exists;
}

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
static std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

bool Routing::append_fabric(Port from, Port to, std::vector<LinkId>& links) const {
  const int ways = fabric_.ways ? fabric_.ways(from, to) : 1;
  const auto number = [&](Port p) { return static_cast<std::uint64_t>(p.node * nics_ + p.nic); };
  const std::uint64_t chosen =
      fabric_.hashed ? mixed(mixed(mixed(number(from)) ^ number(to)) ^ fabric_.seed) : number(to);
  const int start =
      fabric_.minimal_first && !fabric_.hashed ? 0 : static_cast<int>(chosen % static_cast<std::uint64_t>(ways));
  const std::size_t first = links.size();
  for (int w = 0; w < ways; ++w) {
    if (fabric_.route(from, to, (start + w) % ways, links) && works(links, first)) return true;
    links.resize(first);
  }
  return false;
}

bool Routing::append_between_hosts(const Device& from, const Device& to, int out, int in,
                                   std::vector<LinkId>& links) const {
  const std::size_t first = links.size();
  if (append(between(from.node, from.local, used_ + out), from.node, links)) {
    links.push_back(from.node * links_per_host_ + transmit_[at(out)]);
    if (append_fabric({from.node, out}, {to.node, in}, links)) {
      links.push_back(to.node * links_per_host_ + receive_[at(in)]);
      if (append(between(to.node, used_ + in, to.local), to.node, links) && works(links, first)) return true;
    }
  }
  links.resize(first);
  return false;
}

bool Routing::route(const Device& from, const Device& to, int nic, std::vector<LinkId>& links) const {
  if (from.node == to.node) return append(between(from.node, from.local, to.local), from.node, links);
  if (!fabric_.route) return false;
  int out = nic >= 0 ? nic : nearest_nic(from.local);
  int in = nearest_nic(to.local);
  if (out < 0 || out >= nics_ || in < 0) return false;
  // Without a way across rails, the crossing is made inside a host: the sender's, unless it was told its port.
  if (fabric_.rails && nic < 0) out = in;
  if (fabric_.rails) in = out;
  if (append_between_hosts(from, to, out, in, links)) return true;
  if (failed_.empty()) return false;
  // Around a failure: through other ports, the nearest numbers first.
  for (int a = 0; a < nics_; ++a)
    for (int b = 0; b < nics_; ++b)
      if (append_between_hosts(from, to, (out + a) % nics_, (in + b) % nics_, links)) return true;
  return false;
}

}  // namespace trainwire
