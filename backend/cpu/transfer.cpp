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
  for (std::size_t a = 0; a < axis_count; ++a)
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
  const auto& algorithm = choose_algorithm(op.kind, devices, program.communication_bytes(op), scenario.topology);
  t.exchange = &exchange(op.kind, algorithm, static_cast<int>(group.size()), t.member);
  const bool scatters = op.kind == OpKind::reduce_scatter;
  t.elements = scatters ? in.elements : out.elements;
  t.data = scatters ? nullptr : out.data;
  t.output = scatters ? out.data : nullptr;
  t.input = in.data != t.data ? in.data : nullptr;
  t.input_elements = in.elements;
  if (op.kind == OpKind::all_to_all) throw std::logic_error(op_name(program, op) + ": not supported yet");
  return t;
}

float* TransferRun::chunk(int index, std::int64_t& count) const {
  const ChunkRange range = chunk_range(transfer_->elements, transfer_->exchange->chunks, index);
  count = range.count;
  return data_ + range.first;
}

void TransferRun::start(const Transfer& transfer) {
  transfer_ = &transfer;
  round_ = 0;
  moved_ = false;
  data_ = transfer.data;
  if (data_ == nullptr) {
    copy_.resize(static_cast<std::size_t>(transfer.elements));
    data_ = copy_.data();
  }
  if (transfer.input != nullptr) {
    std::int64_t count = 0;
    float* place = transfer.kind == OpKind::all_gather ? chunk(transfer.member, count) : data_;
    std::copy_n(transfer.input, transfer.input_elements, place);
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
      chunk(m.chunk, count);
      staged += count;
    }
  if (static_cast<std::int64_t>(received_.size()) < staged) received_.resize(static_cast<std::size_t>(staged));
  staged = 0;
  for (const auto& m : round.receives) {
    float* place = chunk(m.chunk, count);
    if (m.reduce) {
      place = received_.data() + staged;
      staged += count;
    }
    check(MPI_Irecv(place, static_cast<int>(count), MPI_FLOAT, partner(m.member), transfer_->tag, transfer_->comm,
                    remember(m.member)),
          "MPI_Irecv");
  }
  for (const auto& m : round.sends) {
    const float* place = chunk(m.chunk, count);
    check(MPI_Isend(place, static_cast<int>(count), MPI_FLOAT, partner(m.member), transfer_->tag, transfer_->comm,
                    remember(m.member)),
          "MPI_Isend");
  }
}

void TransferRun::finish_round() {
  std::int64_t count = 0, staged = 0;
  for (const auto& m : transfer_->exchange->rounds[round_].receives) {
    if (!m.reduce) continue;
    float* place = chunk(m.chunk, count);
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
  if (transfer_->output != nullptr) {
    std::int64_t count = 0;
    const float* mine = chunk(transfer_->member, count);
    std::copy_n(mine, count, transfer_->output);
  }
  return true;
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
