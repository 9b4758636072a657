// Checks that need several sections at once. Each message names both numbers and values that would work.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sim/scenario/read.h"

namespace trainwire {
namespace {

struct Divided {
  const char* what;
  std::int64_t size;
};

// What tensor parallelism divides in this model.
std::vector<Divided> divided_by_tensor(const Model& m) {
  if (m.family == "transformer") {
    const Transformer& t = m.transformer;
    std::vector<Divided> divided{{"heads", t.heads}, {"kv_heads", t.kv_heads}, {"vocab", t.vocab}};
    if (t.experts.count == 0 || t.experts.dense_layers > 0) divided.push_back({"ffn_hidden", t.ffn_hidden});
    if (t.experts.count > 0) divided.push_back({"experts.hidden", t.experts.hidden});
    if (t.experts.shared_hidden > 0) divided.push_back({"experts.shared_hidden", t.experts.shared_hidden});
    return divided;
  }
  if (m.family == "mlp") return {{"hidden", m.mlp.hidden}, {"classes", m.mlp.classes}};
  return {};
}

void check_tensor(const Scenario& s, Checks& checks) {
  const std::int64_t degree = s.strategy.tensor.degree;
  if (degree == 1) return;
  if (s.model.family == "cnn") {
    checks.fail("strategy.tensor", std::to_string(degree),
                fmt::format("is not supported for convolutional nets such as {}", s.model.name),
                "Their weights are small: use data or pipeline instead");
    return;
  }
  std::vector<std::string> failing;
  std::int64_t common = 0;  // greatest common divisor of what cannot be padded
  bool vocab_fails = false;
  for (const Divided& d : divided_by_tensor(s.model)) {
    const bool fails = d.size % degree != 0;
    const bool is_vocab = std::string(d.what) == "vocab";
    if (!is_vocab) common = std::gcd(common, d.size);
    if (is_vocab) vocab_fails = fails;
    if (fails && !is_vocab) failing.push_back(fmt::format("{} = {}", d.what, d.size));
  }
  if (!failing.empty()) {
    checks.fail("strategy.tensor", std::to_string(degree),
                fmt::format("must divide {} of model {}", fmt::join(failing, " and "), s.model.name),
                fmt::format("Try {}", divisors_near(common, degree)));
  }
  if (vocab_fails) {
    const std::int64_t vocab = s.model.transformer.vocab;
    const std::int64_t step = std::lcm<std::int64_t>(128, degree);
    checks.fail("strategy.tensor", std::to_string(degree),
                fmt::format("must divide vocab = {} of model {}", vocab, s.model.name),
                fmt::format("Pad the vocabulary: model: {{use: {}, vocab: {}}}, or try {}", s.model.name,
                            (vocab + step - 1) / step * step, divisors_near(std::gcd(common, vocab), degree)));
  }
}

void check_recompute(const Scenario& s, Checks& checks) {
  const bool attends = s.model.family != "mlp" && s.model.family != "cnn";
  if (s.training.recompute != Recompute::selective || attends) return;
  checks.fail("training.recompute", "selective",
              fmt::format("runs the attention core again, and model {} has no attention", s.model.name), "Try full");
}

void check_sequence(Scenario& s, Checks& checks) {
  Training& t = s.training;
  const Model& m = s.model;
  const auto given = [&] { return std::to_string(t.sequence); };
  if (m.family == "mlp") {
    if (t.sequence > 1) checks.fail("training.sequence", given(), "has no meaning for an mlp", "Leave it out");
    t.sequence = 1;
  } else if (m.vision()) {
    constexpr std::int64_t least = 32;  // five halvings
    if (t.sequence == 0) t.sequence = m.cnn.image;
    if (t.sequence < least || t.sequence > 16384) {
      checks.fail("training.sequence", given(), "is the side of the images here and must be from 32 to 16384",
                  fmt::format("Try {}, or leave it out", m.cnn.image));
    }
  } else {
    const std::int64_t most = m.transformer.max_sequence;
    if (t.sequence == 0) t.sequence = most > 0 ? std::min<std::int64_t>(8192, most) : 8192;
    if (m.transformer.positions == Transformer::Positions::learned && t.sequence > most) {
      checks.fail("training.sequence", given(),
                  fmt::format("is longer than the {} positions that model {} learns", most, m.name),
                  fmt::format("Try {}, or model: {{use: {}, max_sequence: {}}}", most, m.name, t.sequence));
    }
  }
}

void check_batch(const Scenario& s, Checks& checks) {
  const Training& t = s.training;
  const std::int64_t replicas = std::int64_t{s.strategy.data.degree} * s.strategy.expert.degree;
  const std::int64_t unit = t.micro_batch * replicas;
  const std::string value = std::to_string(t.global_batch);
  if (t.global_batch % unit != 0) {
    const std::int64_t below = t.global_batch / unit * unit;
    checks.fail("training.global_batch", value,
                fmt::format("must be a multiple of micro_batch x data{} = {} x {} = {}",
                            s.strategy.expert.degree > 1 ? " x expert" : "", t.micro_batch, replicas, unit),
                below > 0 ? fmt::format("Try {} or {}", below, below + unit) : fmt::format("Try {}", unit));
  } else if (t.global_batch / unit > max_micro_batches) {
    checks.fail("training.global_batch", value,
                fmt::format("means {} micro-batches a replica, more than {}", t.global_batch / unit, max_micro_batches),
                "Raise micro_batch or the data degree");
  }
}

std::string degrees_text(Strategy s, std::optional<Axis> except) {
  std::string text;
  for (const Axis axis : s.order) {
    if (axis == except || (degree_of(s, axis) == 1 && axis != Axis::data)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " x ", to_text(axis), degree_of(s, axis));
  }
  return text.empty() ? "1" : text;
}

// A change of one degree that makes the product right.
std::string world_fix(Strategy s, double product, std::int64_t world, const std::string& topology) {
  for (const Axis axis : {Axis::data, Axis::pipeline, Axis::tensor}) {
    const double others = product / degree_of(s, axis);
    if (others > static_cast<double>(world)) continue;
    const auto rest = static_cast<std::int64_t>(others + 0.5);
    if (rest > 0 && world % rest == 0) return fmt::format("Try strategy.{} = {}", to_text(axis), world / rest);
  }
  return fmt::format("The degrees must divide the {} devices of {}", world, topology);
}

}  // namespace

std::string divisors_near(std::int64_t n, std::int64_t wanted) {
  std::int64_t below = 1, above = 0;
  const auto consider = [&](std::int64_t d) {
    if (d <= wanted) below = std::max(below, d);
    if (d > wanted && (above == 0 || d < above)) above = d;
  };
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d == 0) consider(d), consider(n / d);
  }
  return above == 0 ? std::to_string(below) : fmt::format("{} or {}", below, above);
}

void Checks::fail(const std::string& key, const std::string& value, const std::string& problem,
                  const std::string& fix) {
  const Value* at = &root_;
  Where where = root_.where;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    at = at->find(std::string_view(key).substr(begin, end - begin));
    if (at == nullptr) break;
    where = at->where;
    begin = end + 1;
  }
  // What is not written in the file has its default value.
  const bool is_default = at == nullptr;
  problems_.add({where, key, value.empty() || !is_default ? value : value + " (the default)", problem, fix});
}

bool check_world(StrategySection& section, const Topology& topology, Checks& checks) {
  Strategy& s = section.strategy;
  const auto world = static_cast<std::int64_t>(topology.devices.size());
  double product = 1;
  for (const Axis axis : s.order) product *= section.fills == axis ? 1 : degree_of(s, axis);
  const auto whole = static_cast<std::int64_t>(std::min(product, 1e15));
  if (section.fills) {
    if (whole <= world && world % whole == 0) {
      degree_of(s, *section.fills) = static_cast<int>(world / whole);
      return true;
    }
    checks.fail(
        "strategy", degrees_text(s, section.fills),
        fmt::format("the {} devices of topology {} cannot be shared out in groups of {}", world, topology.name, whole),
        world_fix(s, product, world, topology.name));
    return false;
  }
  if (whole == world) return true;
  checks.fail("strategy", degrees_text(s, std::nullopt),
              fmt::format("the degrees multiply to {}, but topology {} has {} devices", whole, topology.name, world),
              world_fix(s, product, world, topology.name));
  return false;
}

void check_model(Scenario& s, bool degrees_known, Checks& checks) {
  check_sequence(s, checks);
  check_tensor(s, checks);
  check_recompute(s, checks);
  check_shares(s, checks);
  check_pipeline(s, degrees_known, checks);
  if (degrees_known) check_batch(s, checks);
}

void check_devices(const Scenario& s, Checks& checks) {
  struct Row {
    Precision precision;
    DType dtype;
    const char* name;
  };
  constexpr Row rows[] = {{Precision::fp32, DType::fp32, "fp32"},
                          {Precision::tf32, DType::tf32, "tf32"},
                          {Precision::fp16, DType::fp16, "fp16"},
                          {Precision::bf16, DType::bf16, "bf16"}};
  const auto has = [](const DeviceSpec& spec, DType dtype) {
    if (spec.kind == DeviceSpec::Kind::cpu) return dtype == DType::fp32;  // what the CPU backend computes in
    return spec.peak[static_cast<std::size_t>(dtype)].value.value > 0;
  };
  for (const DeviceSpec& spec : s.topology.specs) {
    std::vector<std::string> works;
    for (const Row& row : rows) {
      if (has(spec, row.dtype)) works.emplace_back(row.name);
    }
    for (const Row& row : rows) {
      if (row.precision != s.training.precision || has(spec, row.dtype)) continue;
      checks.fail("training.precision", row.name,
                  fmt::format("device {} has no matrix products in {}", spec.name, row.name),
                  works.empty() ? "" : fmt::format("Try {}", fmt::join(works, " or ")));
    }
  }
}

}  // namespace trainwire
