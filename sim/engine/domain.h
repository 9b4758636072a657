// A contention domain while the simulation runs: who computes and communicates in it, and how fast that lets each
// compute. Its computing is a transfer over a pseudo-link as wide as all its computing ranks are fast together.
#pragma once
#include <span>
#include <vector>

#include "sim/engine/fluid.h"
#include "sim/result/timeline.h"
#include "sim/topology/device.h"

namespace trainwire {

class Domain {
 public:
  Domain(const DeviceSpec& spec, Fluid& fluid);

  static constexpr double units_per_second = 1e12;  // of computing alone
  int link() const { return link_; }

  void add_computing(double ranks) { computing_ += ranks; }
  void add_communicating(double communications) { communicating_ += communications; }
  void update();  // once all changes of an instant are made

  // Spans of operations of these lengths (alone) that ran one after the other from `start` to now.
  void fill(double start, std::span<const double> seconds, std::span<Span> spans) const;

 private:
  struct Change {
    double time, speed;
  };

  const DeviceSpec& spec_;
  Fluid& fluid_;
  int link_;
  double computing_ = 0, communicating_ = 0;
  double bandwidth_ = units_per_second;
  std::vector<Change> changes_;  // as long as somebody computes
};

}  // namespace trainwire
