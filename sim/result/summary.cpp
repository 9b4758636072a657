// A report on one screen.
#include <fmt/format.h>

#include <algorithm>

#include "sim/result/report.h"
#include "sim/units/units.h"

namespace trainwire {
namespace {

std::string seconds(double s) { return to_text(Seconds(s)); }
std::string size(double bytes) { return to_text(Bytes(bytes)); }

std::string percent(double part, double whole) {
  return fmt::format("{:5.1f} %", whole > 0 ? 100 * part / whole : 0.0);
}

std::string rates(const Report& r) {
  const char* unit = r.vision ? "samples/s" : "tokens/s";
  std::string text = fmt::format("  {:<26} {}\n", "step time", seconds(r.step_time_s));
  const auto rate = [](double x) { return x < 1e4 ? fmt::format("{:.4g}", x) : fmt::format("{:.0f}", x); };
  text += fmt::format("  {:<26} {} ({} a device)\n", unit, rate(r.tokens_per_s), rate(r.tokens_per_s / r.world_size));
  text += fmt::format("  {:<26} {:.3g} TFLOP/s", "model work a device", r.model_flops_per_s_per_gpu / 1e12);
  text += r.mfu > 0 ? fmt::format(", MFU {:.1f} %\n", 100 * r.mfu) : "\n";
  if (r.step_times_s.size() > 1) {
    const auto [low, high] = std::minmax_element(r.step_times_s.begin(), r.step_times_s.end());
    text +=
        fmt::format("  {:<26} {}, {} to {}\n", "measured steps", r.step_times_s.size(), seconds(*low), seconds(*high));
  }
  return text;
}

std::string parts(const Report& r) {
  const auto line = [&](const std::string& name, double s) {
    return fmt::format("  {:<26} {:>10}  {}\n", name, seconds(s), percent(s, r.step_time_s));
  };
  std::string text = "where the step goes (mean over ranks)\n" + line("compute", r.breakdown.compute_s);
  for (const auto& [axis, s] : r.breakdown.exposed_s) text += line("exposed " + axis, s);
  if (r.breakdown.bubble_s > 0) text += line("pipeline bubble", r.breakdown.bubble_s);
  return text + line("other", r.breakdown.other_s);
}

std::string memory(const Report& r) {
  std::string text = "memory a device, at the peak";
  if (r.capacity_bytes > 0) text += fmt::format(" ({} there)", size(r.capacity_bytes));
  text += fmt::format("\n  {:<7} {:>10} {:>10} {:>10} {:>11} {:>10} {:>10}\n", "stage", "parameters", "gradients",
                      "optimizer", "activations", "workspace", "peak");
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, r.memory.size()); ++i) {
    const auto& m = r.memory[i];
    text += fmt::format("  {:<7} {:>10} {:>10} {:>10} {:>11} {:>10} {:>10}\n", m.stage, size(m.parameters),
                        size(m.gradients), size(m.optimizer), size(m.activations), size(m.workspace), size(m.peak));
  }
  if (r.memory.size() > most) text += fmt::format("  and {} more stages\n", r.memory.size() - most);
  return text;
}

std::string first_lines(const Report& r) {
  std::string text;
  if (!r.bound_by.empty()) text += "what the step is bound by (critical path)\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(5, r.bound_by.size()); ++i)
    text += fmt::format("  {:<48} {}\n", r.bound_by[i].what, percent(r.bound_by[i].share, 1));
  if (!r.links.empty()) text += "busiest links\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, r.links.size()); ++i) {
    const auto& link = r.links[i];
    const std::string like = link.copies > 1 ? fmt::format(" (and {} alike)", link.copies - 1) : "";
    text += fmt::format("  {:<48} {}  {}\n", link.name + like, percent(link.utilisation, 1), size(link.bytes));
  }
  return text;
}

}  // namespace

std::string to_summary(const Report& r) {
  std::string text = fmt::format("{}\n  {} by {} on {} {}\n", r.scenario, r.kind, r.executor, r.world_size,
                                 r.world_size == 1 ? "rank" : "ranks");
  text += rates(r) + parts(r) + memory(r) + first_lines(r);
  if (!r.loss.empty())
    text += fmt::format("loss: {:.6g} after the first step, {:.6g} after the last\n", r.loss.front(), r.loss.back());
  for (const auto& warning : r.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace trainwire
