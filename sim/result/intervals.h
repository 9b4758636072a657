// Sets of time as disjoint ascending intervals.
#pragma once
#include <vector>

namespace trainwire {

struct Interval {
  double start_s = 0, end_s = 0;
};
using Intervals = std::vector<Interval>;

// Any intervals, clipped to [0, limit], sorted and joined where they touch; empty ones vanish.
Intervals merged(Intervals, double limit_s);
// The arguments of these are disjoint and ascending.
Intervals intersection(const Intervals&, const Intervals&);
Intervals complement(const Intervals&, double limit_s);  // within [0, limit]
double length(const Intervals&);

}  // namespace trainwire
