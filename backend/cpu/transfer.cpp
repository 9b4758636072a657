#include "backend/cpu/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace trainwire::cpu {
namespace {

void combine(float* into, const float* from, std::int64_t count, Reduction reduction) {
  if (reduction == Reduction::sum) {
    for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) into[i] = std::max(into[i], from[i]);
  }
}

// The elements of operands that lie one after the other in memory, as one region.
struct Region {
  float* data = nullptr;
  std::int64_t elements = 0;
};
Region region_of(const Program& program, const Op& op, std::span<const BufferId> buffers,
                 std::span<void* const> pointers) {
  Region region;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    float* data = static_cast<float*>(pointers[i]);
    if (i == 0) region.data = data;
    if (region.data + region.elements != data)
      throw std::logic_error(op_name(program, op) + ": its operands do not lie one after the other");
    region.elements += program.tensor(buffers[i]).shape.elements();
  }
  return region;
}

// From an array whose members' parts alternate in `pieces` to one in which they follow each other; and back.
void pack(float* parts, const float* array, std::int64_t elements, int members, std::int64_t pieces) {
  if (pieces == 1) {
    std::copy_n(array, elements, parts);
    return;
  }
  const std::int64_t length = elements / members / pieces;
  for (int m = 0; m < members; ++m)
    for (std::int64_t p = 0; p < pieces; ++p, parts += length)
      std::copy_n(array + (p * members + m) * length, length, parts);
}
void unpack(float* array, const float* parts, std::int64_t elements, int members, std::int64_t pieces) {
  const std::int64_t length = elements / members / pieces;
  for (int m = 0; m < members; ++m)
    for (std::int64_t p = 0; p < pieces; ++p, parts += length)
      std::copy_n(parts, length, array + (p * members + m) * length);
}

std::int64_t pieces_of(const Tensor& whole, const Tensor& part, Axis axis) {
  if (static_cast<int>(axis) >= axis_count) return 1;
  const Placement& p = part.placement[static_cast<std::size_t>(axis)];
  if (p.kind != Placement::Kind::shard) return 1;
  std::int64_t pieces = 1;
  for (int d = 0; d < p.dim; ++d) pieces *= whole.shape[d];
  return pieces;
}

void set_pieces(const Program& program, const Op& op, Transfer& t) {
  if (op.inputs.count != 1 || op.outputs.count != 1) return;
  const Tensor &in = program.tensor(program.inputs(op)[0]), &out = program.tensor(program.outputs(op)[0]);
  if (in.routed.parts > 0) {
    t.routed = in.routed;
    t.elements = t.input_elements = in.storage();
    return;
  }
  if (op.kind == OpKind::all_gather || op.kind == OpKind::all_to_all) t.output_pieces = pieces_of(out, in, op.axis);
  if (op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_to_all) t.input_pieces = pieces_of(in, out, op.axis);
}

// A send or a receive is one message of the whole buffer.
const Exchange& point_to_point(OpKind kind, int peer) {
  static const auto make = [](bool sends, int member) {
    Exchange e;
    e.rounds.resize(1);
    (sends ? e.rounds[0].sends : e.rounds[0].receives).push_back({member, 0, false});
    return e;
  };
  static thread_local std::map<std::pair<bool, int>, Exchange> made;
  const std::pair<bool, int> key{kind == OpKind::send, peer};
  const auto found = made.find(key);
  return found != made.end() ? found->second : made.emplace(key, make(key.first, peer)).first->second;
}

}  // namespace

Exchange exchange_of(const StepList& steps, int member) {
  Exchange e;
  e.chunks = steps.chunks;
  e.rounds.resize(static_cast<std::size_t>(steps.rounds));
  for (const Step& s : steps.steps) {
    auto& round = e.rounds[static_cast<std::size_t>(s.round)];
    if (s.from == member) round.sends.push_back({s.to, s.chunk, s.reduce});
    if (s.to == member) round.receives.push_back({s.from, s.chunk, s.reduce});
  }
  std::erase_if(e.rounds, [](const Exchange::Round& r) { return r.sends.empty() && r.receives.empty(); });
  return e;
}

const Exchange& Transfers::exchange(OpKind kind, const CollectiveAlgorithm& algorithm, int members, int member) {
  auto& table = exchanges_[{algorithm.name, kind}];
  const auto found = table.find({members, member});
  if (found != table.end()) return found->second;
  return table.emplace(std::pair{members, member}, exchange_of(algorithm.steps(kind, members), member)).first->second;
}

Transfers::Transfers(const Scenario& scenario, const Plan& plan, const Ranks& ranks, std::span<void* const> pointers) {
  const Program& program = plan.program(ranks.rank());
  for (std::size_t a = 0; a < group_count; ++a)
    groups_[static_cast<Axis>(a)] = plan.mesh.group(ranks.rank(), static_cast<Axis>(a));
  by_op_.resize(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (is_communication(program.ops[i].kind)) by_op_[i] = prepare(scenario, plan, ranks, pointers, program.ops[i]);
}

Transfer Transfers::prepare(const Scenario& scenario, const Plan& plan, const Ranks& ranks,
                            std::span<void* const> pointers, const Op& op) {
  const Program& program = plan.program(ranks.rank());
  const std::vector<Rank>& group = groups_[op.axis];
  const Region in = region_of(program, op, program.inputs(op), pointers.subspan(op.inputs.first, op.inputs.count));
  const Region out = region_of(program, op, program.outputs(op), pointers.subspan(op.outputs.first, op.outputs.count));
  Transfer t{op.kind, op.reduction};
  t.tag = static_cast<int>(op.tag & 0x3fffffffU);
  t.comm = ranks.axis(op.axis);
  t.group = &group;
  t.member = plan.mesh.coordinate(ranks.rank(), op.axis);
  if (is_point_to_point(op.kind)) {
    const Region& used = op.kind == OpKind::send ? in : out;
    t.data = used.data;
    t.elements = used.elements;
    t.exchange = &point_to_point(op.kind, t.member + op.peer);
    return t;
  }
  std::vector<DeviceId> devices;
  for (const Rank r : group) devices.push_back(scenario.placement[static_cast<std::size_t>(r)]);
  const auto& algorithm = choose_algorithm(op.kind, devices, program.communication_bytes(op), scenario.topology,
                                           scenario.collectives[static_cast<std::size_t>(op.axis)]);
  t.exchange = &exchange(op.kind, algorithm, static_cast<int>(group.size()), t.member);
  t.elements = op.kind == OpKind::reduce_scatter ? in.elements : out.elements;
  t.input_elements = in.elements;
  t.accumulate = op.accumulate;
  set_pieces(program, op, t);
  const bool copies = op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_to_all || t.output_pieces > 1;
  t.data = copies ? nullptr : out.data;
  t.output = copies ? out.data : nullptr;
  t.input = in.data != t.data ? in.data : nullptr;
  return t;
}

float* TransferRun::chunk(float* base, int index, std::int64_t& count) const {
  const ChunkRange range = chunk_range(transfer_->elements, transfer_->exchange->chunks, index);
  count = range.count;
  return base + range.first;
}

// Of a part of routed rows, what is in use; of anything else, all.
std::int64_t TransferRun::used(const float* part, std::int64_t count) const {
  const Routed& r = transfer_->routed;
  if (r.parts == 0) return count;
  std::int64_t rows = 0;
  for (std::int32_t e = 0; e < r.experts; ++e) rows += static_cast<std::int64_t>(part[e]);
  return r.experts + rows * ((count - r.experts) / r.rows);
}

void TransferRun::start_all_to_all() {
  const Transfer& t = *transfer_;
  if (t.input_pieces > 1) {
    copy_.resize(static_cast<std::size_t>(t.elements));
    pack(copy_.data(), t.input, t.elements, t.exchange->chunks, t.input_pieces);
    data_ = copy_.data();
  } else {
    data_ = const_cast<float*>(t.input);  // is only read
  }
  incoming_ = t.output;
  if (t.output_pieces > 1) {
    arrived_.resize(static_cast<std::size_t>(t.elements));
    incoming_ = arrived_.data();
  }
  std::int64_t count = 0;
  const float* mine = chunk(data_, t.member, count);
  std::copy_n(mine, used(mine, count), chunk(incoming_, t.member, count));
}

void TransferRun::start(const Transfer& transfer) {
  transfer_ = &transfer;
  round_ = 0;
  moved_ = false;
  data_ = incoming_ = transfer.data;
  if (transfer.kind == OpKind::all_to_all) {
    start_all_to_all();
  } else if (transfer.kind == OpKind::permute) {
    data_ = const_cast<float*>(transfer.input);  // is only read
  } else {
    if (data_ == nullptr) {
      copy_.resize(static_cast<std::size_t>(transfer.elements));
      data_ = incoming_ = copy_.data();
    }
    std::int64_t count = 0;
    float* place = transfer.kind == OpKind::all_gather ? chunk(data_, transfer.member, count) : nullptr;
    if (place != nullptr && transfer.input != nullptr && place != transfer.input)
      std::copy_n(transfer.input, transfer.input_elements, place);
    else if (place == nullptr && transfer.input != nullptr)
      pack(data_, transfer.input, transfer.elements, transfer.exchange->chunks, transfer.input_pieces);
  }
  post_round();
}

void TransferRun::post_round() {
  requests_.clear();
  partners_.clear();
  if (round_ >= transfer_->exchange->rounds.size()) return;
  const Exchange::Round& round = transfer_->exchange->rounds[round_];
  const auto partner = [&](int member) { return (*transfer_->group)[static_cast<std::size_t>(member)]; };
  const auto remember = [&](int member) -> MPI_Request* {
    partners_.push_back(partner(member));
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  };
  std::int64_t count = 0, staged = 0;
  for (const auto& m : round.receives)
    if (m.reduce) {
      chunk(data_, m.chunk, count);
      staged += count;
    }
  if (static_cast<std::int64_t>(received_.size()) < staged) received_.resize(static_cast<std::size_t>(staged));
  staged = 0;
  for (const auto& m : round.receives) {
    float* place = chunk(incoming_, transfer_->kind == OpKind::all_to_all ? m.member : m.chunk, count);
    if (m.reduce) {
      place = received_.data() + staged;
      staged += count;
    }
    check(MPI_Irecv(place, static_cast<int>(count), MPI_FLOAT, partner(m.member), transfer_->tag, transfer_->comm,
                    remember(m.member)),
          "MPI_Irecv");
  }
  for (const auto& m : round.sends) {
    const float* place = chunk(data_, m.chunk, count);
    check(MPI_Isend(place, static_cast<int>(used(place, count)), MPI_FLOAT, partner(m.member), transfer_->tag,
                    transfer_->comm, remember(m.member)),
          "MPI_Isend");
  }
}

void TransferRun::finish_round() {
  std::int64_t count = 0, staged = 0;
  for (const auto& m : transfer_->exchange->rounds[round_].receives) {
    if (!m.reduce) continue;
    float* place = chunk(data_, m.chunk, count);
    combine(place, received_.data() + staged, count, transfer_->reduction);
    staged += count;
  }
}

bool TransferRun::advance() {
  moved_ = false;
  while (round_ < transfer_->exchange->rounds.size()) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done == 0) return false;
    finish_round();
    moved_ = true;
    ++round_;
    post_round();
  }
  finish();
  return true;
}

void TransferRun::finish() {
  const Transfer& t = *transfer_;
  if (t.output == nullptr) return;
  std::int64_t count = 0;
  if (t.kind == OpKind::reduce_scatter) {
    const float* mine = chunk(data_, t.member, count);
    if (t.accumulate) {
      combine(t.output, mine, count, Reduction::sum);
    } else {
      std::copy_n(mine, count, t.output);
    }
  } else if (t.output_pieces > 1) {
    unpack(t.output, incoming_, t.elements, t.exchange->chunks, t.output_pieces);
  }
}

std::string TransferRun::waits_for() const {
  std::set<Rank> missing;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) missing.insert(partners_[i]);
  std::string text = fmt::format("round {} of {}, rank", round_ + 1, transfer_->exchange->rounds.size());
  for (const Rank r : missing) text += (r == *missing.begin() ? " " : ", ") + std::to_string(r);
  return text;
}

}  // namespace trainwire::cpu
