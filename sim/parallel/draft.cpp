#include "sim/parallel/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trainwire {

TensorId add_tensor(Draft& d, Tensor t) {
  d.tensors.push_back(std::move(t));
  return static_cast<TensorId>(d.tensors.size() - 1);
}

Tensor& tensor(Draft& d, TensorId t) { return d.tensors[static_cast<std::size_t>(t)]; }
const Tensor& tensor(const Draft& d, TensorId t) { return d.tensors[static_cast<std::size_t>(t)]; }

TensorId add_like(Draft& d, TensorId model, std::string name, DType dtype, Category category) {
  Tensor t = tensor(d, model);
  t.name = std::move(name);
  t.dtype = dtype;
  t.category = category;
  t.view_of = -1;
  t.offset = 0;
  return add_tensor(d, std::move(t));
}

bool is_weight_gradient(const Draft& d, const DraftOp& op) {
  return !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(),
                                            [&](TensorId t) { return tensor(d, t).category == Category::gradient; });
}

Transition transition(Placement from, Placement to) {
  using Kind = Placement::Kind;
  if (from == to || from.kind == Kind::replicate) return Transition::none;
  if (from.kind == Kind::partial)
    return to.kind == Kind::replicate ? Transition::all_reduce : Transition::reduce_scatter;
  return to.kind == Kind::replicate ? Transition::all_gather : Transition::all_to_all;
}

namespace {

void check_shape(const Draft& d, const DeviceMesh& mesh, TensorId id, std::vector<std::string>& out) {
  const Tensor& t = tensor(d, id);
  Shape expected = t.global;
  for (int a = 0; a < axis_count; ++a) {
    const Placement& p = t.placement[static_cast<std::size_t>(a)];
    if (p.kind == Placement::Kind::shard) expected[p.dim] /= mesh.degree(static_cast<Axis>(a));
  }
  if (!(expected == t.shape))
    out.push_back(fmt::format("{}: local shape {} does not follow from {} and its placement", t.name, to_text(t.shape),
                              to_text(t.global)));
}

void check_list(const Draft& d, const std::vector<DraftOp>& ops, std::vector<bool>& written,
                std::vector<std::string>& out) {
  const auto size = static_cast<TensorId>(d.tensors.size());
  // A flat tensor is there when one of its parts was written: the parts are made by different operations.
  const auto whole = [&](TensorId t) {
    const TensorId of = tensor(d, t).view_of;
    return static_cast<std::size_t>(of < 0 ? t : of);
  };
  for (const DraftOp& op : ops) {
    const std::string what = fmt::format("{} {} of layer {}", to_text(op.kind), to_text(op.role), op.layer);
    for (const TensorId t : op.inputs) {
      if (t < 0 || t >= size)
        out.push_back(fmt::format("{}: operand {} out of range", what, t));
      else if (!written[whole(t)])
        out.push_back(fmt::format("{}: reads {} before it is written", what, tensor(d, t).name));
    }
    for (const TensorId t : op.outputs) {
      if (t < 0 || t >= size)
        out.push_back(fmt::format("{}: result {} out of range", what, t));
      else
        written[whole(t)] = written[static_cast<std::size_t>(t)] = true;
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Draft& d, const DeviceMesh& mesh) {
  std::vector<std::string> out;
  std::vector<bool> written(d.tensors.size(), false);
  for (std::size_t t = 0; t < d.tensors.size(); ++t) {
    const Category c = d.tensors[t].category;
    written[t] = c == Category::parameter || c == Category::input || c == Category::optimizer;
    check_shape(d, mesh, static_cast<TensorId>(t), out);
  }
  check_list(d, d.forward, written, out);
  check_list(d, d.backward, written, out);
  return out;
}

}  // namespace trainwire
