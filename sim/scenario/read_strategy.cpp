// Section `strategy` of a scenario file: degrees of the mesh axes and how each splits the work.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

constexpr Axis all_axes[] = {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

constexpr Named<PipelineSchedule> schedules[] = {{"gpipe", PipelineSchedule::gpipe},
                                                 {"1f1b", PipelineSchedule::one_f_one_b},
                                                 {"interleaved", PipelineSchedule::interleaved},
                                                 {"zero-bubble", PipelineSchedule::zero_bubble},
                                                 {"zero-bubble-v", PipelineSchedule::zero_bubble_v},
                                                 {"explicit", PipelineSchedule::as_given}};
constexpr Named<ContextMethod> methods[] = {
    {"ring", ContextMethod::ring}, {"all-gather", ContextMethod::all_gather}, {"ulysses", ContextMethod::ulysses}};

// `degree`: a number, or `auto` on one axis.
void read_degree(Reader& reader, Axis axis, StrategySection& out) {
  const Value* value = reader.raw("degree");
  if (value == nullptr) return;
  if (value->kind == Value::Kind::scalar && value->scalar == "auto") {
    if (out.fills) {
      reader.fail("degree", fmt::format("only one degree may be auto, and {} is already", to_text(*out.fills)));
      out.sound = false;
    }
    out.fills = axis;
    return;
  }
  const std::size_t before = reader.problems().all().size();
  degree_of(out.strategy, axis) = static_cast<int>(reader.integer("degree", 1, 1, max_degree));
  out.sound = out.sound && reader.problems().all().size() == before;
}

// One text a stage.
void read_all_turns(Reader& reader, std::vector<Turns>& out) {
  for (const std::string& text : reader.texts("turns")) {
    std::string problem;
    out.push_back(read_turns(text, problem));
    if (problem.empty()) continue;
    reader.fail("turns", problem,
                "F: forward, B: backward, W: weight gradients alone; F2.1 is chunk 1 of micro-batch 2");
    out.clear();
    return;
  }
}

void read_axis(Reader& reader, Axis axis, StrategySection& out) {
  Strategy& s = out.strategy;
  read_degree(reader, axis, out);
  switch (axis) {
    case Axis::data:
      read_data(reader, s);
      break;
    case Axis::tensor:
      s.tensor.sequence_parallel = reader.flag("sequence_parallel", s.tensor.sequence_parallel);
      break;
    case Axis::pipeline:
      s.pipeline.schedule = read_name<PipelineSchedule>(reader, "schedule", schedules, s.pipeline.schedule);
      s.pipeline.interleave = static_cast<int>(reader.integer("interleave", 1, 1, 1000));
      s.pipeline.layers = reader.integers("layers", 0);
      read_all_turns(reader, s.pipeline.turns);
      break;
    case Axis::context:
      s.context.method = read_name<ContextMethod>(reader, "method", methods, s.context.method);
      break;
    case Axis::expert:
      s.expert.imbalance = reader.number("imbalance", 0.0, 0.0, 1e6);
      s.expert.seed = reader.integer("seed", 1, 0, INT32_MAX);
      break;
    case Axis::gradient:
    case Axis::expert_gradient:
      break;
    case Axis::replica:  // a part of the data axis
      break;
  }
  reader.finish();
}

void read_order(Reader& reader, Strategy& strategy) {
  if (!reader.has("order")) {
    reader.raw("order");
    return;
  }
  const std::vector<std::string> names = reader.texts("order");
  std::vector<std::string> known;
  for (const Axis axis : strategy.order) known.emplace_back(to_text(axis));
  const std::string fix = "Example: [tensor, context, expert, data, pipeline], nearest wires first";
  std::array<Axis, ordered_axes> order{};
  bool sound = names.size() == order.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::find(known.begin(), known.end(), names[i]);
    if (found == known.end()) {
      reader.fail("order", fmt::format("{} is not an axis", names[i]), suggestion(names[i], known));
      return;
    }
    sound = sound && std::count(names.begin(), names.end(), names[i]) == 1;
    if (i < order.size()) order[i] = strategy.order[static_cast<std::size_t>(found - known.begin())];
  }
  if (!sound) {
    reader.fail("order", "must list each of the five axes once", fix);
    return;
  }
  strategy.order = order;
}

}  // namespace

int& degree_of(Strategy& s, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return s.tensor.degree;
    case Axis::context:
      return s.context.degree;
    case Axis::expert:
      return s.expert.degree;
    case Axis::data:
    case Axis::replica:
      return s.data.degree;
    default:
      break;
  }
  return s.pipeline.degree;
}

StrategySection read_strategy(const Value& section, Problems& problems) {
  StrategySection out;
  Reader reader(section, "strategy", problems);
  bool data_given = false;
  for (const Axis axis : all_axes) {
    const std::string name(to_text(axis));
    const Value value = reader.map_or_shorthand(name, "degree");
    Reader inner(value, "strategy." + name, problems);
    if (axis == Axis::data) data_given = inner.has("degree");
    read_axis(inner, axis, out);
  }
  if (!data_given && !out.fills) out.fills = Axis::data;
  read_order(reader, out.strategy);
  reader.finish();
  return out;
}

}  // namespace trainwire
