#include "sim/engine/domain.h"

#include <algorithm>

#include "sim/engine/contention.h"

namespace trainwire {

Domain::Domain(const DeviceSpec& spec, Fluid& fluid)
    : spec_(spec), fluid_(fluid), link_(fluid.link(units_per_second, true)), changes_{{0, 1}} {}

void Domain::update() {
  if (computing_ <= 0) {
    changes_.erase(changes_.begin(), changes_.end() - 1);
    return;
  }
  const double speed = compute_speed(spec_, computing_, communicating_);
  if (speed != changes_.back().speed) {
    const double now = fluid_.now();
    if (changes_.back().time == now) {
      changes_.back().speed = speed;
    } else {
      changes_.push_back({now, speed});
    }
  }
  const double bandwidth = computing_ * speed * units_per_second;
  if (bandwidth != bandwidth_) fluid_.set_bandwidth(link_, bandwidth);
  bandwidth_ = bandwidth;
}

void Domain::fill(double start, std::span<const double> seconds, std::span<Span> spans) const {
  const double now = fluid_.now();
  auto change = std::upper_bound(changes_.begin(), changes_.end(), start,
                                 [](double time, const Change& c) { return time < c.time; });
  if (change != changes_.begin()) --change;
  double time = start;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    spans[i].start_s = time;
    double left = seconds[i];
    for (; change + 1 != changes_.end() && (change[1].time - time) * change->speed <= left; ++change) {
      left -= (change[1].time - time) * change->speed;
      time = change[1].time;
    }
    time = std::min(now, time + left / change->speed);
    spans[i].end_s = time;
  }
  if (!spans.empty()) spans.back().end_s = now;
}

}  // namespace trainwire
