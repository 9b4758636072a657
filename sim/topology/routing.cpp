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

Routing::Routing(const HostGraph& host, int used, FabricRoutes fabric)
    : used_(used),
      nics_(host.nics),
      links_per_host_(static_cast<int>(host.links.size())),
      transmit_(host.transmit),
      receive_(host.receive),
      fabric_(std::move(fabric)) {
  const int ends = used_ + nics_;
  table_.resize(at(ends * ends));
  const auto vertex_of = [&](int end) { return end < used_ ? end : host.nic(end - used_); };
  const int vertices = static_cast<int>(host.vertices.size());
  const auto is_switch = [&](int v) { return v >= host.devices + host.nics; };
  const auto is_relay = [&](int v) { return is_switch(v) || (host.relay && v < host.devices); };
  for (int from = 0; from < ends; ++from) {
    const RouteTree direct = route_tree(host.edges, host.links, vertices, vertex_of(from), is_switch);
    const RouteTree relayed = route_tree(host.edges, host.links, vertices, vertex_of(from), is_relay);
    for (int to = 0; to < ends; ++to) {
      const RouteTree& tree = from < used_ && to < used_ ? direct : relayed;
      const int target = vertex_of(to);
      table_[at(from * ends + to)] = {tree.reached[at(target)], links_to(tree, host.edges, target)};
    }
  }
  choose_nearest(host);
}

// The port that the fewest links lead to, then the least latency; devices that see several equally near ones take
// turns.
void Routing::choose_nearest(const HostGraph& host) {
  std::map<std::vector<int>, int> turns;
  for (int device = 0; device < used_; ++device) {
    std::vector<int> near;
    std::pair<std::size_t, double> least{SIZE_MAX, 0};
    for (int nic = 0; nic < nics_; ++nic) {
      const Local& way = between(device, used_ + nic);
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

bool Routing::route(const Device& from, const Device& to, int nic, std::vector<LinkId>& links) const {
  if (from.node == to.node) return append(between(from.local, to.local), from.node, links);
  if (!fabric_.route) return false;
  int out = nic >= 0 ? nic : nearest_nic(from.local);
  int in = nearest_nic(to.local);
  if (out < 0 || out >= nics_ || in < 0) return false;
  // Without a way across rails, the crossing is made inside a host: the sender's, unless it was told its port.
  if (fabric_.rails && nic < 0) out = in;
  if (fabric_.rails) in = out;
  if (!append(between(from.local, used_ + out), from.node, links)) return false;
  links.push_back(from.node * links_per_host_ + transmit_[at(out)]);
  if (!fabric_.route({from.node, out}, {to.node, in}, links)) return false;
  links.push_back(to.node * links_per_host_ + receive_[at(in)]);
  return append(between(used_ + in, to.local), to.node, links);
}

}  // namespace trainwire
