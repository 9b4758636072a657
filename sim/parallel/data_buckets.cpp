// Buckets of gradients, and the flat tensors that replicas share out. By size: in the reverse order of the parameters,
// closed by the gradient that reaches the cap; the first cap is 1 MiB (PyTorch's first bucket) or the cap itself where
// that is smaller. By unit: all parameters of one layer.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/parallel/data.h"

namespace trainwire {
namespace {

constexpr double first_bucket_bytes = 1024.0 * 1024.0;

// Gradients of a stage, by the parameter's number.
std::map<std::int32_t, TensorId> gradients_of(const Draft& d, int stage) {
  std::map<std::int32_t, TensorId> by_parameter;
  for (const auto& [gradient, _] : last_writers(d, stage)) by_parameter[tensor(d, gradient).parameter] = gradient;
  return by_parameter;
}

// Whether another stage keeps the parameter too (tied embeddings).
std::set<std::int32_t> kept_elsewhere(const Draft& d, int stage) {
  std::set<std::int32_t> here, elsewhere, both;
  for (const DraftOp& op : d.backward)
    for (const TensorId t : op.outputs)
      if (tensor(d, t).category == Category::gradient && tensor(d, t).parameter >= 0)
        (op.stage == stage ? here : elsewhere).insert(tensor(d, t).parameter);
  std::set_intersection(here.begin(), here.end(), elsewhere.begin(), elsewhere.end(),
                        std::inserter(both, both.begin()));
  return both;
}

bool of_experts(const Draft& d, std::int32_t parameter) {
  return d.parameters[static_cast<std::size_t>(parameter)].experts;
}

void append(const Draft& d, Bucket& bucket, TensorId gradient) {
  bucket.gradients.push_back(gradient);
  bucket.bytes += tensor(d, gradient).bytes();
  bucket.layer = tensor(d, gradient).layer;
  bucket.experts = of_experts(d, tensor(d, gradient).parameter);
}

}  // namespace

std::map<TensorId, int> last_writers(const Draft& d, int stage) {
  std::map<TensorId, int> last;
  for (std::size_t i = 0; i < d.backward.size(); ++i)
    if (d.backward[i].stage == stage)
      for (const TensorId t : d.backward[i].outputs)
        if (tensor(d, t).category == Category::gradient && tensor(d, t).parameter >= 0) last[t] = static_cast<int>(i);
  return last;
}

std::vector<Bucket> buckets_by_size(const Draft& d, int stage, double cap, bool apart) {
  const auto gradients = gradients_of(d, stage);
  const auto shared = apart ? kept_elsewhere(d, stage) : std::set<std::int32_t>{};
  std::vector<Bucket> all, alone;
  for (const bool experts : {false, true}) {
    std::vector<Bucket> buckets;
    bool open = false;
    for (auto entry = gradients.rbegin(); entry != gradients.rend(); ++entry) {
      if (of_experts(d, entry->first) != experts) continue;
      if (shared.contains(entry->first)) {
        append(d, alone.emplace_back(), entry->second);
        continue;
      }
      if (!open) buckets.emplace_back();
      append(d, buckets.back(), entry->second);
      open = buckets.back().bytes < (buckets.size() == 1 ? std::min(cap, first_bucket_bytes) : cap);
    }
    for (std::size_t b = 0; b < buckets.size(); ++b)
      buckets[b].name = fmt::format("{}bucket {} of stage {}", experts ? "expert " : "", b, stage);
    all.insert(all.end(), buckets.begin(), buckets.end());
  }
  for (std::size_t b = 0; b < alone.size(); ++b) alone[b].name = fmt::format("tied bucket {} of stage {}", b, stage);
  all.insert(all.end(), alone.begin(), alone.end());
  return all;
}

std::vector<Bucket> buckets_by_unit(const Draft& d, int stage) {
  const auto shared = kept_elsewhere(d, stage);
  // By layer, experts, and parameter where it is apart.
  std::map<std::tuple<int, bool, std::int32_t>, Bucket> units;
  for (const auto& [parameter, gradient] : gradients_of(d, stage)) {
    const bool apart = shared.contains(parameter), experts = of_experts(d, parameter);
    Bucket& unit = units[{tensor(d, gradient).layer, experts, apart ? parameter : -1}];
    append(d, unit, gradient);
    unit.name = d.layers[static_cast<std::size_t>(unit.layer)] + (apart ? " (tied)" : experts ? " (experts)" : "");
  }
  std::vector<Bucket> buckets;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) buckets.push_back(unit->second);
  return buckets;
}

TensorId add_flat(Draft& d, const std::string& name, Category category, DType dtype, std::int64_t elements,
                  std::int32_t flat) {
  Tensor t;
  t.name = name;
  t.category = category;
  t.dtype = dtype;
  t.shape = t.global = {elements};
  t.flat = flat;
  return add_tensor(d, std::move(t));
}

TensorId add_shard(Draft& d, const Scenario& s, TensorId flat_tensor, const std::string& name, DType dtype, bool view) {
  Tensor t = tensor(d, flat_tensor);
  t.name = name;
  t.dtype = dtype;
  t.each_micro_batch = t.gathered = false;
  t.placement[static_cast<std::size_t>(Axis::data)] = {Placement::Kind::shard, 0};
  t.shape[0] /= s.mesh.degree(Axis::data);
  t.view_of = view ? flat_tensor : -1;
  return add_tensor(d, std::move(t));
}

void insert(Draft& d, std::vector<DraftOp>& list, std::vector<Insertion> insertions) {
  std::stable_sort(insertions.begin(), insertions.end(),
                   [](const Insertion& a, const Insertion& b) { return a.before < b.before; });
  std::vector<DraftOp> result;
  std::vector<int> place;
  result.reserve(list.size() + insertions.size());
  auto next = insertions.begin();
  for (std::size_t i = 0; i <= list.size(); ++i) {
    for (; next != insertions.end() && next->before == static_cast<int>(i); ++next)
      result.push_back(std::move(next->op));
    if (i == list.size()) break;
    place.push_back(static_cast<int>(result.size()));
    result.push_back(std::move(list[i]));
  }
  list = std::move(result);
  if (&list != &d.backward) return;
  for (StepOp& op : d.step)
    if (op.after >= 0) op.after = place[static_cast<std::size_t>(op.after)];
}

}  // namespace trainwire
