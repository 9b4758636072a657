// Data parallelism without sharding (DDP; Li et al. 2020, "PyTorch Distributed"): gradients are gathered in buckets in
// the reverse order of the parameters; a bucket's all-reduce starts when the last micro-batch has written its last
// gradient, while the backward pass goes on. A bucket is closed by the gradient that reaches the cap; the first cap is
// 1 MiB (PyTorch's first bucket) or the cap itself where that is smaller.
// Bytes on the axis a step: one all-reduce of the gradients' size. Ranks of the context and expert axes work on other
// tokens with the same parameters, and take part; experts are shared by those of the data and context axes alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

constexpr double first_bucket_bytes = 1024.0 * 1024.0;

struct Bucket {
  std::vector<TensorId> gradients;
  double bytes = 0;
};

// Index of the last backward operation of the stage that writes the gradient, -1 where the stage has none.
std::map<TensorId, int> last_writers(const Draft& d, int stage) {
  std::map<TensorId, int> last;
  for (std::size_t i = 0; i < d.backward.size(); ++i)
    if (d.backward[i].stage == stage)
      for (const TensorId t : d.backward[i].outputs)
        if (tensor(d, t).category == Category::gradient) last[t] = static_cast<int>(i);
  return last;
}

std::vector<Bucket> buckets_of(const Draft& d, const std::map<TensorId, int>& writers, double cap) {
  std::map<std::int32_t, TensorId> by_parameter;
  for (const auto& [gradient, _] : writers) by_parameter[tensor(d, gradient).parameter] = gradient;
  std::vector<Bucket> buckets;
  bool open = false;
  for (auto entry = by_parameter.rbegin(); entry != by_parameter.rend(); ++entry) {
    if (!open) buckets.emplace_back();
    Bucket& bucket = buckets.back();
    bucket.gradients.push_back(entry->second);
    bucket.bytes += tensor(d, entry->second).bytes();
    open = bucket.bytes < (buckets.size() == 1 ? std::min(cap, first_bucket_bytes) : cap);
  }
  return buckets;
}

// Gradients become views of their bucket's one buffer.
TensorId bucket_buffer(Draft& d, const Bucket& bucket, const std::string& name) {
  Tensor buffer;
  buffer.name = name;
  buffer.category = Category::gradient;
  buffer.dtype = tensor(d, bucket.gradients[0]).dtype;
  std::int64_t elements = 0;
  for (const TensorId g : bucket.gradients) elements += tensor(d, g).shape.elements();
  buffer.shape = buffer.global = {elements};
  const TensorId id = add_tensor(d, std::move(buffer));
  std::int64_t offset = 0;
  for (const TensorId g : bucket.gradients) {
    tensor(d, g).view_of = id;
    tensor(d, g).offset = offset;
    offset += tensor(d, g).shape.elements();
  }
  return id;
}

}  // namespace

namespace {

// The ranks that hold the same parameters: the axis of their gradients' sum.
Axis sharers(const DeviceMesh& mesh, bool experts) {
  const bool context = mesh.degree(Axis::context) > 1;
  if (experts) return context ? Axis::expert_gradient : Axis::data;
  return context || mesh.degree(Axis::expert) > 1 ? Axis::gradient : Axis::data;
}

void reduce_gradients(Draft& d, const Scenario& s, int stage, bool experts) {
  const auto& data = s.strategy.data;
  const Axis axis = sharers(s.mesh, experts);
  if (s.mesh.degree(axis) == 1) return;
  auto writers = last_writers(d, stage);
  std::erase_if(writers, [&](const auto& entry) {
    return d.parameters[static_cast<std::size_t>(tensor(d, entry.first).parameter)].experts != experts;
  });
  const auto buckets = buckets_of(d, writers, data.bucket.value);
  int ready = -1;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const TensorId buffer =
        bucket_buffer(d, buckets[b], fmt::format("{}bucket {} of stage {}", experts ? "expert " : "", b, stage));
    for (const TensorId g : buckets[b].gradients) ready = std::max(ready, writers.at(g));
    DraftOp reduce;
    reduce.kind = OpKind::all_reduce;
    reduce.role = Role::backward;
    reduce.stream = Stream::data;
    reduce.axis = axis;
    reduce.stage = stage;
    reduce.layer = tensor(d, buckets[b].gradients.back()).layer;
    reduce.inputs = reduce.outputs = {buffer};
    d.step.push_back({reduce, data.overlap ? ready : -1});
  }
}

}  // namespace

void data_parallel(Draft& d, const Scenario& s) {
  for (int stage = 0; stage < s.mesh.degree(Axis::pipeline); ++stage)
    for (const bool experts : {false, true}) reduce_gradients(d, s, stage, experts);
}

}  // namespace trainwire
