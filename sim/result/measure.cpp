// The report of a timeline: rates, model flops utilisation, memory against capacity, links.
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "sim/result/analysis.h"

namespace trainwire {
namespace {

DType product_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return DType::fp32;
    case Precision::tf32:
      return DType::tf32;
    case Precision::fp16:
      return DType::fp16;
    case Precision::bf16:
      return DType::bf16;
    case Precision::fp8:
      return DType::fp8;
  }
  return DType::fp32;
}

// Matrix-product rate that utilisation is measured against, flop/s: the data sheet's, or for a CPU without one the
// best product that was measured on one core. 0: unknown.
double peak_rate(const DeviceSpec& device, Precision precision) {
  const double peak = device.peak[static_cast<std::size_t>(product_type(precision))].value.value;
  if (peak > 0) return peak;
  double best = 0;
  for (const auto& product : device.cpu.products)
    if (product.seconds > 0)
      best = std::max(
          best, 2.0 * static_cast<double>(product.m * product.n) * static_cast<double>(product.k) / product.seconds);
  return best;
}

// What the devices of all ranks could do together, flop/s; 0 where one of them is unknown.
double world_peak_rate(const Scenario& scenario) {
  double sum = 0;
  for (const DeviceId device : scenario.placement) {
    const double rate = peak_rate(scenario.topology.spec(device), scenario.training.precision);
    if (rate <= 0) return 0;
    sum += rate;
  }
  return sum;
}

void measure_rates(const Scenario& scenario, Report& report) {
  const auto& training = scenario.training;
  const auto batch = static_cast<double>(training.global_batch);
  report.vision = scenario.model.vision() || scenario.model.family == "mlp";
  if (report.step_time_s <= 0) return;
  report.tokens_per_s = batch * (report.vision ? 1.0 : static_cast<double>(training.sequence)) / report.step_time_s;
  const double flops = model_flops(scenario.model, training.sequence, training.global_batch);
  report.model_flops_per_s_per_gpu = flops / report.step_time_s / report.world_size;
  const double peak = world_peak_rate(scenario);
  report.mfu = peak > 0 ? flops / report.step_time_s / peak : 0;
}

void measure_memory(const Scenario& scenario, const Plan& plan, Report& report) {
  report.memory = memory_by_stage(plan);
  double capacity = std::numeric_limits<double>::infinity();
  for (const DeviceId device : scenario.placement)
    if (const double bytes = scenario.topology.spec(device).memory.value.value; bytes > 0)
      capacity = std::min(capacity, bytes);
  for (const auto& stage : report.memory) report.peak_bytes = std::max(report.peak_bytes, stage.peak);
  if (capacity == std::numeric_limits<double>::infinity()) return;
  report.capacity_bytes = capacity;
  report.fits = report.peak_bytes <= capacity;
  if (!report.fits)
    report.warnings.push_back("does not fit: " + to_text(Bytes(report.peak_bytes)) + " needed, a device has " +
                              to_text(Bytes(capacity)));
}

// utilisation 1: the link carries all that transfers can reach on it, during the whole step.
void measure_links(const Scenario& scenario, const Timeline& timeline, Report& report) {
  for (const auto& use : timeline.links) {
    if (use.bytes <= 0) continue;
    const Link& link = scenario.topology.links[static_cast<std::size_t>(use.link)];
    const double possible = link.effective() * timeline.step_time_s;
    report.links.push_back({link.name, std::string(to_text(link.kind)), use.bytes, use.busy_s,
                            possible > 0 ? use.bytes / possible : 0, use.copies});
  }
  std::stable_sort(report.links.begin(), report.links.end(),
                   [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
}

double peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

}  // namespace

Report measure(const Scenario& scenario, const Plan& plan, const Timeline& timeline) {
  Report report;
  report.scenario = scenario.name;
  report.kind = timeline.kind;
  report.executor = timeline.executor;
  report.world_size = plan.mesh.size();
  report.step_time_s = timeline.step_time_s;
  measure_rates(scenario, report);
  report.breakdown = breakdown(plan, timeline);
  measure_memory(scenario, plan, report);
  measure_links(scenario, timeline, report);
  report.bound_by = critical_path(scenario, plan, timeline);
  report.loss = timeline.loss;
  report.step_times_s = timeline.step_times_s;
  report.parameters_checksum = timeline.parameters_checksum;
  report.provenance = provenance(scenario.topology);
  report.activities = timeline.activities;
  report.warnings.insert(report.warnings.end(), timeline.notes.begin(), timeline.notes.end());
  report.peak_rss_bytes = peak_resident_bytes();
  return report;
}

}  // namespace trainwire
