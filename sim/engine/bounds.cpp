#include "sim/engine/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace trainwire {
namespace {

constexpr double slack = 1 + 1e-6;  // solvers stop within 1e-12 s an event

double computing_s(const Network& network, const SimRank& rank) {
  const Program& program = *network.programs[static_cast<std::size_t>(rank.program)].source;
  double seconds = 0;
  for (const Op& op : program.ops)
    if (op.stream == Stream::compute && !is_communication(op.kind)) seconds += (*rank.seconds)[op.prototype];
  return seconds;
}

}  // namespace

void check_bounds(const Network& network, const Timeline& timeline) {
  const double step = timeline.step_time_s * slack + 1e-9;
  for (const SimRank& rank : network.ranks)
    if (const double least = computing_s(network, rank); least > step)
      throw std::logic_error(fmt::format("rank {}: a step of {} s is shorter than its computing alone, {} s", rank.rank,
                                         timeline.step_time_s, least));
  for (const SimLink& link : network.links) {
    const auto use = std::find_if(timeline.links.begin(), timeline.links.end(),
                                  [&](const LinkUse& u) { return u.link == link.link; });
    if (use != timeline.links.end() && use->bytes / link.capacity > std::min(step, use->busy_s * slack + 1e-9))
      throw std::logic_error(
          fmt::format("link {}: {} bytes in {} s is more than it can carry", link.link, use->bytes, use->busy_s));
  }
}

}  // namespace trainwire
