// Times of the backend's kernels on one core that nobody else uses.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "backend/calibrate/measure.h"
#include "sim/topology/device.h"

namespace trainwire::cpu {

struct Spreads {
  std::vector<double> values;
  void add(const Sample& sample) { values.push_back(sample.spread); }
};

std::vector<MeasuredProduct> measure_products(Pool& pool, bool quick, Spreads& spreads);
// By the keys of sim/cost/cpu.h.
std::map<std::string, Curve> measure_kernels(Pool& pool, bool quick, Spreads& spreads);
std::map<std::string, Curve> measure_attention(Pool& pool, bool quick, Spreads& spreads);

}  // namespace trainwire::cpu
