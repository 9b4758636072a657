// trainwire explain: what a plan is, without timing it.
#include "sim/verbs/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include "sim/build/build.h"
#include "sim/parallel/schedules/schedules.h"
#include "sim/scenario/pieces.h"
#include "sim/result/allocator.h"
#include "sim/verbs/memory_advice.h"
#include "sim/verbs/output.h"

namespace trainwire {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string group_text(const std::vector<Rank>& ranks) {
  constexpr std::size_t shown = 8;
  if (ranks.size() <= shown) return fmt::format("[{}]", fmt::join(ranks, ", "));
  return fmt::format("[{}, ... {}]", fmt::join(ranks.begin(), ranks.begin() + shown - 2, ", "), ranks.back());
}

std::string mesh_text(const Explained& e) {
  std::string text = fmt::format("\nmesh, innermost axis first\n  {:<16}{:>7}{:>8}  {:<34}{:>12}{:>14}\n", "axis",
                                 "degree", "groups", "first group", "operations", "bytes a step");
  for (const AxisExplained& axis : e.axes) {
    if (axis.degree == 1) continue;
    const std::string group = fmt::format("{}, {}", group_text(axis.first_group),
                                          axis.nodes == 1 ? "one host" : fmt::format("{} hosts", axis.nodes));
    text += fmt::format("  {:<16}{:>7}{:>8}  {:<34}{:>12}{:>14}\n", to_text(axis.axis), axis.degree, axis.groups, group,
                        axis.operations, to_text(Bytes(axis.bytes)));
  }
  return text;
}

// "7, 14 x 8, 7"
std::string runs_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < numbers.size(); i = end) {
    while (end < numbers.size() && numbers[end] == numbers[i]) ++end;
    text +=
        (text.empty() ? "" : ", ") + (end - i > 1 ? fmt::format("{} x ", end - i) : "") + std::to_string(numbers[i]);
  }
  return text;
}

std::string pipeline_text(const Scenario& s) {
  const PipelineShape shape = s.pipeline_shape();
  if (shape.stages == 1) return "";
  const auto& p = s.strategy.pipeline;
  const ScheduleRule* rule = find_schedule(p.schedule);
  const auto blocks =
      p.layers.empty() ? even_blocks(shape, static_cast<std::int64_t>(s.model.layers.size()) - 2) : p.layers;
  return fmt::format("  pipeline    {}, {} stages of {}; blocks along the model: {}\n",
                     rule == nullptr ? "explicit" : rule->name, shape.stages,
                     shape.chunks == 1 ? "1 chunk" : fmt::format("{} chunks", shape.chunks), runs_text(blocks));
}

std::string memory_text(const Explained& e) {
  const std::string capacity = e.capacity_bytes > 0 ? fmt::format(", of {}", to_text(Bytes(e.capacity_bytes))) : "";
  std::string text = fmt::format("\nmemory a rank{}\n  {:<6}{:>12}{:>12}{:>12}{:>13}{:>12}{:>12}\n", capacity, "stage",
                                 "parameters", "gradients", "optimizer", "activations", "workspace", "peak");
  for (const StageMemory& m : e.memory) {
    text += fmt::format("  {:<6}{:>12}{:>12}{:>12}{:>13}{:>12}{:>12}\n", m.stage, to_text(Bytes(m.parameters)),
                        to_text(Bytes(m.gradients)), to_text(Bytes(m.optimizer)), to_text(Bytes(m.activations)),
                        to_text(Bytes(m.workspace)), to_text(Bytes(m.peak)));
  }
  return text;
}

}  // namespace

std::string to_text(const Scenario& s, const Explained& e) {
  std::string text = s.name + "\n";
  if (!s.question.empty()) text += fmt::format("  question    {}\n", s.question);
  text += fmt::format("  model       {}: {} parameters, {} blocks\n", s.model.name, e.parameters,
                      s.model.layers.size() - 2);
  text += fmt::format("  topology    {}: {} x {} on {} {}\n", s.topology.name, s.topology.devices.size(),
                      s.topology.specs.at(0).name, s.topology.nodes, s.topology.nodes == 1 ? "host" : "hosts");
  text += fmt::format("  batch       {} a step = {} micro-batches of {} x {} replicas\n", s.training.global_batch,
                      e.micro_batches, s.training.micro_batch, s.strategy.data.degree * s.strategy.expert.degree);
  text += pipeline_text(s);
  if (s.world_size() > 1) text += mesh_text(e);
  text += memory_text(e);
  text += "\noperations a rank\n";
  for (const ProgramExplained& program : e.programs) {
    text += fmt::format("  {:<10}{:>5} {}:", program.role, program.ranks, program.ranks == 1 ? "rank" : "ranks");
    for (const auto& [name, count] : program.operations) text += fmt::format("  {} {}", name, count);
    text += '\n';
  }
  if (!e.warnings.empty()) text += "\nwarnings\n";
  for (const std::string& warning : e.warnings) text += "  " + warning + "\n";
  return text;
}

std::string to_json(const Scenario& s, const Explained& e) {
  std::vector<std::string> axes, memory, programs, warnings;
  for (const AxisExplained& a : e.axes) {
    axes.push_back(fmt::format(
        R"({{"axis": "{}", "degree": {}, "groups": {}, "first_group": [{}], "hosts": {}, "operations": {}, "bytes": {:.0f}}})",
        to_text(a.axis), a.degree, a.groups, fmt::join(a.first_group, ", "), a.nodes, a.operations, a.bytes));
  }
  for (const StageMemory& m : e.memory) {
    memory.push_back(fmt::format(
        R"({{"stage": {}, "parameters": {:.0f}, "gradients": {:.0f}, "optimizer": {:.0f}, "activations": {:.0f}, "workspace": {:.0f}, "peak": {:.0f}}})",
        m.stage, m.parameters, m.gradients, m.optimizer, m.activations, m.workspace, m.peak));
  }
  for (const ProgramExplained& p : e.programs) {
    std::vector<std::string> counts;
    for (const auto& [name, count] : p.operations) counts.push_back(fmt::format("{}: {}", quoted(name), count));
    programs.push_back(fmt::format(R"({{"role": {}, "ranks": {}, "operations": {{{}}}}})", quoted(p.role), p.ranks,
                                   fmt::join(counts, ", ")));
  }
  for (const std::string& warning : e.warnings) warnings.push_back(quoted(warning));
  return fmt::format(
      "{{\"schema\": \"trainwire.explain/1\",\n \"scenario\": {}, \"model\": {}, \"parameters\": {}, \"topology\": "
      "{},\n"
      " \"world_size\": {}, \"micro_batches\": {}, \"capacity_bytes\": {:.0f},\n \"axes\": [{}],\n \"memory\": [{}],\n"
      " \"programs\": [{}],\n \"warnings\": [{}]}}",
      quoted(s.name), quoted(s.model.name), e.parameters, quoted(s.topology.name), s.world_size(), e.micro_batches,
      e.capacity_bytes, fmt::join(axes, ",\n  "), fmt::join(memory, ",\n  "), fmt::join(programs, ",\n  "),
      fmt::join(warnings, ", "));
}

void explain_options(options::options_description& description) {
  auto add = description.add_options();
  add("ops", "list every operation of every program");
  add("route", options::value<std::string>()->value_name("A,B"), "the links from rank A to rank B, and back");
}

namespace {

std::string route_text(const Scenario& s, const std::string& ends) {
  int from = -1, to = -1;
  char rest = 0;
  if (std::sscanf(ends.c_str(), "%d,%d%c", &from, &to, &rest) != 2 || std::min(from, to) < 0 ||
      std::max(from, to) >= s.world_size())
    throw UsageError(
        fmt::format("--route {}: must be two ranks from 0 to {}, for example 0,1", ends, s.world_size() - 1));
  std::string text;
  for (const auto& [a, b] : {std::pair{from, to}, std::pair{to, from}}) {
    const DeviceId source = s.placement[static_cast<std::size_t>(a)], target = s.placement[static_cast<std::size_t>(b)];
    const Path path = s.topology.route(source, target);
    text += fmt::format("route from rank {} ({}) to rank {} ({}): {}, {} at the narrowest\n", a,
                        s.topology.devices[static_cast<std::size_t>(source)].name, b,
                        s.topology.devices[static_cast<std::size_t>(target)].name, to_text(s.topology.latency(path)),
                        path.links.empty() ? "-" : to_text(Bandwidth(s.topology.bottleneck(path))));
    for (const LinkId id : path.links) {
      const Link& link = s.topology.links[static_cast<std::size_t>(id)];
      text += fmt::format("  {:<36} {:<9} {:>10} {:>9}\n", link.name, to_text(link.kind),
                          to_text(Bandwidth(link.effective())), to_text(link.latency.value));
    }
  }
  return text;
}

// Fits, fits but for what an allocator holds on top, or what to change.
void add_memory_verdict(const Call& call, const Scenario& scenario, Explained& e) {
  double peak = 0;
  for (const StageMemory& stage : e.memory) peak = std::max(peak, stage.peak);
  if (e.capacity_bytes <= 0 || peak * (1 + allocator_slack) <= e.capacity_bytes) return;
  if (peak <= e.capacity_bytes) {
    e.warnings.push_back(
        fmt::format("memory is tight: allocators hold about {:.0f} % more than what is allocated (assumed)",
                    100 * allocator_slack));
    return;
  }
  for (const MemoryKnob& knob : memory_advice(call.positional[0], call.overrides, scenario, peak))
    e.warnings.push_back(fmt::format(
        "{} {}", knob.peak_bytes <= e.capacity_bytes ? "this would fit:" : "this helps:", to_text(knob, peak, 0)));
}

}  // namespace

int explain(const Call& call) {
  const Scenario scenario = load_scenario(call.positional[0], call.overrides);
  std::optional<OutputFolder> folder;  // only where one is asked for
  if (!call.output.empty()) folder.emplace(call.output);
  const Plan plan = build_plan(scenario);
  Explained what = explained(scenario, plan);
  add_memory_verdict(call, scenario, what);
  const bool list = call.own.count("ops") > 0 && !call.json;
  const std::string text =
      (call.json ? to_json(scenario, what) : to_text(scenario, what)) + "\n" + (list ? operations_text(plan) : "") +
      (call.own.count("route") > 0 && !call.json ? route_text(scenario, call.own["route"].as<std::string>()) : "");
  fmt::print("{}", text);
  if (folder) {
    const std::filesystem::path file = folder->path() / (call.json ? "explain.json" : "explain.txt");
    const std::filesystem::path beside = file.string() + ".part";
    std::ofstream(beside) << text;
    std::filesystem::rename(beside, file);
    say(call, "results: " + file.string());
  }
  return done;
}

}  // namespace trainwire
