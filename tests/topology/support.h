// Topologies for the tests, from text as a person writes it.
#pragma once
#include <string>

#include "sim/config/value.h"
#include "sim/topology/topology.h"
#include "tests/test.h"

namespace trainwire {

inline Topology topology_of(const std::string& yaml, Problems& problems) {
  const Value value = read_text(yaml, "test.yaml", problems);
  return load_topology(value, ".", problems);
}

// Throws ConfigError where the text is not sound.
inline Topology topology_of(const std::string& yaml) {
  Problems problems;
  Topology topology = topology_of(yaml, problems);
  problems.throw_if_any();
  return topology;
}

// All messages about a text, one a line.
inline std::string messages_of(const std::string& yaml) {
  Problems problems;
  topology_of(yaml, problems);
  std::string text;
  for (const auto& problem : problems.all()) text += to_text(problem) + "\n";
  return text;
}

inline const Link& link_named(const Topology& topology, const std::string& name) {
  for (const Link& link : topology.links)
    if (link.name == name) return link;
  throw std::logic_error("no link " + name);
}

inline std::vector<std::string> names_of(const Topology& topology, const Path& path) {
  std::vector<std::string> names;
  for (const LinkId link : path.links) names.push_back(topology.links[static_cast<std::size_t>(link)].name);
  return names;
}

}  // namespace trainwire
