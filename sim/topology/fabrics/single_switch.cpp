// One non-blocking switch, and no fabric at all: neither adds a link. This is the file to copy for a new fabric.
#include "sim/topology/shelf.h"

namespace trainwire {

FabricRoutes build_single_switch(Reader&, FabricPlace&) {
  return {[](Port, Port, int, std::vector<LinkId>&) { return true; }};
}

FabricRoutes build_no_fabric(Reader&, FabricPlace&) { return {}; }

}  // namespace trainwire
