// Union, intersection and complement of sets of time, each in one pass over sorted intervals.
#include "sim/result/intervals.h"

#include <algorithm>

namespace trainwire {

Intervals merged(Intervals spans, double limit_s) {
  for (auto& span : spans) {
    span.start_s = std::clamp(span.start_s, 0.0, limit_s);
    span.end_s = std::clamp(span.end_s, 0.0, limit_s);
  }
  std::erase_if(spans, [](const Interval& span) { return span.end_s <= span.start_s; });
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  Intervals result;
  for (const auto& span : spans) {
    if (!result.empty() && span.start_s <= result.back().end_s)
      result.back().end_s = std::max(result.back().end_s, span.end_s);
    else
      result.push_back(span);
  }
  return result;
}

Intervals intersection(const Intervals& a, const Intervals& b) {
  Intervals result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].start_s, b[j].start_s), std::min(a[i].end_s, b[j].end_s)};
    if (both.start_s < both.end_s) result.push_back(both);
    if (a[i].end_s < b[j].end_s)
      ++i;
    else
      ++j;
  }
  return result;
}

Intervals complement(const Intervals& a, double limit_s) {
  Intervals result;
  double from = 0;
  for (const auto& span : a) {
    if (span.start_s > from) result.push_back({from, span.start_s});
    from = std::max(from, span.end_s);
  }
  if (from < limit_s) result.push_back({from, limit_s});
  return result;
}

double length(const Intervals& a) {
  double sum = 0;
  for (const auto& span : a) sum += span.end_s - span.start_s;
  return sum;
}

}  // namespace trainwire
