#include "backend/cuda/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "backend/common/data.h"
#include "backend/cuda/kernels/types.h"
#include "backend/cuda/transfer.h"

namespace trainwire::cuda {
namespace {

constexpr std::size_t alignment = 256;  // bytes: what cudaMalloc gives, and cuBLASLt's kernels like best
constexpr double fp16_scale = 4096;     // gradients below 6e-8 would vanish in fp16

std::size_t bytes_of_element(DType t) { return static_cast<std::size_t>(size_of(type_of(t))); }

// fp32 values as the buffer's type stores them.
std::vector<char> stored(const std::vector<float>& values, Type type) {
  std::vector<char> bytes(values.size() * static_cast<std::size_t>(size_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<Index>(i);
    if (type == Type::bf16) store(reinterpret_cast<bf16*>(bytes.data()), index, values[i]);
    if (type == Type::fp16) store(reinterpret_cast<fp16*>(bytes.data()), index, values[i]);
    if (type == Type::fp32) store(reinterpret_cast<float*>(bytes.data()), index, values[i]);
  }
  return bytes;
}

std::size_t scratch_of(const Program& program, const OperationContext& context) {
  Sink measuring;
  const std::vector<void*> nothing(program.operands.size(), nullptr);
  const std::span<void* const> pointers = nothing;
  for (const Op& op : program.ops)
    if (!is_communication(op.kind))
      run_operation(program, op, pointers.subspan(op.inputs.first, op.inputs.count),
                    pointers.subspan(op.outputs.first, op.outputs.count), context, measuring);
  return measuring.most();
}

bool is_loss(const Op& op) { return op.kind == OpKind::cross_entropy && op.role == Role::forward; }

}  // namespace

DeviceRank::DeviceRank(Device& device, const Scenario& scenario, const Plan& plan, Rank rank)
    : device_(device),
      scenario_(scenario),
      plan_(plan),
      program_(plan.program(rank)),
      rank_(rank),
      at_(coordinates_of(plan.mesh, rank)),
      layout_(lay_out(program_, alignment, bytes_of_element)),
      ended_(program_.ops.size(), -1) {
  context_.coordinate = at_;
  context_.parameters = plan.parameters;
  context_.optimizer = scenario.training.optimizer;
  context_.learning_rate = scenario.training.learning_rate;
  context_.tf32 = scenario.training.precision == Precision::tf32;
  context_.loss_scale = scenario.training.precision == Precision::fp16 ? fp16_scale : 1;
  const DeviceFacts facts = device.facts();
  context_.shared_bytes = facts.shared_bytes;
  need_.products = facts.product_bytes;
  need_.buffers = layout_.bytes + alignment;  // and the sum of the losses
  need_.scratch = scratch_of(program_, context_);
  for (const Op& op : program_.ops) names_.push_back(op_name(program_, op));
}

DeviceRank::~DeviceRank() {
  if (base_ == nullptr) return;
  try {
    device_.release(base_);
  } catch (const std::exception&) {}  // the device is lost already: whoever noticed has said so
}

void DeviceRank::prepare() {
  const DeviceFacts facts = device_.facts();
  if (static_cast<double>(need_.total()) > facts.free_bytes)
    throw std::runtime_error(fmt::format(
        "this rank needs {:.2f} GiB of GPU memory, {} has {:.2f} GiB free of {:.2f}. Use a smaller micro_batch, "
        "sharding or recomputation, or more ranks",
        static_cast<double>(need_.total()) / (1 << 30), facts.name, facts.free_bytes / (1 << 30),
        facts.memory_bytes / (1 << 30)));
  base_ = static_cast<char*>(device_.allocate(need_.total()));
  loss_ = base_ + layout_.bytes;
  char* scratch = base_ + need_.buffers;
  for (const BufferId b : program_.operands) pointers_.push_back(at(b));
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    lane(op).ops.push_back(static_cast<OpId>(i));
    for (const OpId d : program_.waits_for(op)) {
      EventId& event = ended_[static_cast<std::size_t>(d)];
      if (event < 0) event = device_.make_event(false);
    }
  }
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    if (lanes_[s].ops.empty() && s != static_cast<std::size_t>(Stream::compute)) continue;
    lanes_[s].stream = device_.make_stream(s != static_cast<std::size_t>(Stream::compute));
    lanes_[s].end = device_.make_event(true);
  }
  origin_ = device_.make_event(true);
  sink_ = Sink(device_, lanes_[static_cast<std::size_t>(Stream::compute)].stream, scratch, scratch + need_.scratch,
               need_.products);
  for (BufferId b = 0; b < static_cast<BufferId>(program_.buffers.size()); ++b) {
    const Tensor& t = program_.tensor(b);
    const bool master = t.category == Category::optimizer && t.name.starts_with("master ");
    if ((t.category != Category::parameter && !master) || t.parameter < 0) continue;
    std::vector<float> values(static_cast<std::size_t>(t.shape.elements()));
    initial_parameter(plan_, program_, t, at_, scenario_.training.seed, values.data());
    const std::vector<char> bytes = stored(values, type_of(t.dtype));
    device_.upload(at(b), bytes.data(), bytes.size());
  }
}

void DeviceRank::connect(const std::map<GroupKey, UniqueId>& ids, double timeout_s) {
  std::vector<Device::Membership> memberships;
  const std::vector<GroupKey> keys = groups_of(plan_, rank_);
  for (const GroupKey& key : keys) {
    const std::vector<Rank> members = members_of(plan_, key);
    const auto me = std::find(members.begin(), members.end(), rank_);
    memberships.push_back({ids.at(key), static_cast<int>(members.size()), static_cast<int>(me - members.begin())});
  }
  if (keys.empty()) return;
  const std::vector<CommunicatorId> joined = device_.join(memberships, timeout_s);
  for (std::size_t i = 0; i < keys.size(); ++i) communicators_[keys[i]] = joined[i];
}

void DeviceRank::load_inputs(std::int64_t step) {
  for (BufferId b = 0; b < static_cast<BufferId>(program_.buffers.size()); ++b) {
    const Tensor& t = program_.tensor(b);
    if (t.category != Category::input) continue;
    std::vector<float> values(static_cast<std::size_t>(t.shape.elements()));  // or int32: of the same size
    input_values(scenario_, plan_, program_, b, at_, step, values.data());
    if (t.dtype == DType::int32) {
      device_.upload(at(b), values.data(), values.size() * sizeof(float));
    } else {
      const std::vector<char> bytes = stored(values, type_of(t.dtype));
      device_.upload(at(b), bytes.data(), bytes.size());
    }
  }
}

void DeviceRank::enqueue(std::int64_t step_number, bool timed) {
  context_.step = step_number;
  if (timed && start_.empty())
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      start_.push_back(device_.make_event(true));
      stop_.push_back(device_.make_event(true));
    }
  Lane& computing = lanes_[static_cast<std::size_t>(Stream::compute)];
  device_.clear(computing.stream, loss_, sizeof(float));
  device_.record(origin_, computing.stream);
  for (Lane& l : lanes_) {
    l.seen = 0;
    if (l.stream >= 0 && &l != &computing) device_.wait(l.stream, origin_);
  }
  std::vector<bool> done(program_.ops.size());
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    if (done[i]) continue;
    const Op& op = program_.ops[i];
    start(op, static_cast<OpId>(i), timed);
    if (!is_communication(op.kind)) {
      compute(op);
    } else if (const auto other = partner_in_group(i)) {
      const Op& with = program_.ops[*other];
      start(with, static_cast<OpId>(*other), timed);
      device_.open_group();
      communicate(op);
      communicate(with);
      device_.close_group();
      end(with, static_cast<OpId>(*other), timed);
      done[*other] = true;
    } else {
      communicate(op);
    }
    end(op, static_cast<OpId>(i), timed);
  }
  for (Lane& l : lanes_) {
    if (l.stream < 0) continue;
    device_.record(l.end, l.stream);
    // The next step's inputs and parameters may be touched only when all streams have ended.
    if (&l != &computing) device_.wait(computing.stream, l.end);
  }
}

void DeviceRank::start(const Op& op, OpId id, bool timed) {
  const StreamId stream = lane(op).stream;
  for (const OpId d : program_.waits_for(op)) device_.wait(stream, ended_[static_cast<std::size_t>(d)]);
  device_.open_range(names_[static_cast<std::size_t>(id)].c_str());
  if (timed) device_.record(start_[static_cast<std::size_t>(id)], stream);
}

void DeviceRank::end(const Op& op, OpId id, bool timed) {
  const StreamId stream = lane(op).stream;
  if (timed) device_.record(stop_[static_cast<std::size_t>(id)], stream);
  device_.close_range();
  const EventId event = ended_[static_cast<std::size_t>(id)];
  if (event >= 0) device_.record(event, stream);
}

// A send and the receive after it on the same stream start together, or ranks that all send first would wait for ever.
// Not where the receive must wait for something that comes after the send.
std::optional<std::size_t> DeviceRank::partner_in_group(std::size_t index) const {
  const Op& op = program_.ops[index];
  if (op.kind != OpKind::send) return {};
  for (std::size_t i = index + 1; i < program_.ops.size(); ++i) {
    const Op& next = program_.ops[i];
    if (next.stream != op.stream) continue;
    if (next.kind != OpKind::recv) return {};
    for (const OpId d : program_.waits_for(next))
      if (static_cast<std::size_t>(d) > index) return {};
    return i;
  }
  return {};
}

void DeviceRank::compute(const Op& op) {
  const std::span<void* const> pointers = pointers_;
  const auto outputs = pointers.subspan(op.outputs.first, op.outputs.count);
  run_operation(program_, op, pointers.subspan(op.inputs.first, op.inputs.count), outputs, context_, sink_);
  if (!is_loss(op)) return;
  Launch sum;
  sum.kernel = Kernel::accumulate_loss;
  sum.p = {loss_, outputs[0]};
  sum.n[0] = 1;
  sink_.launch(sum);
}

void DeviceRank::communicate(const Op& op) {
  const std::span<void* const> pointers = pointers_;
  const GroupKey key = group_of(plan_, rank_, op);
  const std::vector<Rank> members = members_of(plan_, key);
  const auto me = std::find(members.begin(), members.end(), rank_) - members.begin();
  Collective c = collective_of(program_, op, pointers.subspan(op.inputs.first, op.inputs.count),
                               pointers.subspan(op.outputs.first, op.outputs.count),
                               static_cast<std::int64_t>(members.size()), me);
  c.communicator = communicators_.at(key);
  device_.communicate(lane(op).stream, c);
}

bool DeviceRank::finished(std::uint64_t& progress) {
  bool all = true;
  for (Lane& l : lanes_) {
    if (l.stream < 0) continue;
    if (device_.ended(l.end)) {
      progress += l.ops.size() - l.seen;
      l.seen = l.ops.size();
      continue;
    }
    all = false;
    for (; l.seen < l.ops.size(); ++l.seen, ++progress) {
      const auto id = static_cast<std::size_t>(l.ops[l.seen]);
      const EventId event = stop_.empty() ? ended_[id] : stop_[id];
      if (event >= 0 && !device_.ended(event)) break;
    }
  }
  return all;
}

std::string DeviceRank::whereabouts() const {
  std::string text;
  for (std::size_t s = 0; s < lanes_.size(); ++s) {
    const Lane& l = lanes_[s];
    if (l.seen >= l.ops.size()) continue;
    const OpId id = l.ops[l.seen];
    const Op& op = program_.ops[static_cast<std::size_t>(id)];
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_text(static_cast<Stream>(s)),
                        names_[static_cast<std::size_t>(id)]);
    if (!is_communication(op.kind)) continue;
    text += " with";
    for (const Rank r : members_of(plan_, group_of(plan_, rank_, op)))
      if (r != rank_) text += fmt::format(" rank {}", r);
  }
  return text;
}

double DeviceRank::loss() const {
  float sum = 0;
  device_.download(&sum, loss_, sizeof sum);
  return static_cast<double>(sum);
}

std::vector<SpanNs> DeviceRank::spans(std::int64_t origin_ns) const {
  std::vector<SpanNs> spans;
  const auto since = [&](EventId e) {
    return origin_ns + static_cast<std::int64_t>(1e9 * device_.seconds_between(origin_, e));
  };
  for (std::size_t i = 0; i < stop_.size(); ++i) spans.push_back({since(start_[i]), since(stop_[i])});
  return spans;
}

std::int64_t DeviceRank::step_ns() const {
  double last = 0;
  for (const Lane& l : lanes_)
    if (l.stream >= 0) last = std::max(last, device_.seconds_between(origin_, l.end));
  return static_cast<std::int64_t>(1e9 * last);
}

std::vector<float> DeviceRank::values(BufferId buffer) const {
  const Tensor& t = program_.tensor(buffer);
  const Type type = type_of(t.dtype);
  std::vector<char> bytes(static_cast<std::size_t>(t.shape.elements() * size_of(type)));
  device_.download(bytes.data(), at(buffer), bytes.size());
  std::vector<float> values(static_cast<std::size_t>(t.shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<Index>(i);
    if (type == Type::bf16) values[i] = load(reinterpret_cast<const bf16*>(bytes.data()), index);
    if (type == Type::fp16) values[i] = load(reinterpret_cast<const fp16*>(bytes.data()), index);
    if (type == Type::fp32) values[i] = load(reinterpret_cast<const float*>(bytes.data()), index);
  }
  return values;
}

}  // namespace trainwire::cuda
