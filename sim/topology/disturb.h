// What-ifs on a healthy cluster: slower devices, narrower or failed links. Each changes what it names alone, so that
// folding splits just the classes that are touched.
#pragma once
#include <string>
#include <vector>

#include "sim/topology/topology.h"

namespace trainwire {

// Computing on the device takes 1/speed as long as before (memory traffic and launches included).
void set_speed(Topology& topology, DeviceId device, double speed);
// The same for a kind of device.
void set_speed(DeviceSpec& spec, double speed);

// The links of this name, or all whose name begins with it and a dot ("node0.nic1": both ways).
std::vector<LinkId> links_named(const Topology& topology, const std::string& name);

// These links work no more. Returns "" or, where that cuts the cluster, "A cannot reach B".
std::string fail_links(Topology& topology, std::vector<LinkId> links);

}  // namespace trainwire
