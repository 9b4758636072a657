#include "backend/cuda/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace trainwire::cuda {
namespace {

Rank partner(const Plan& plan, Rank rank, const Op& op) {
  return plan.mesh.neighbour(rank, op.axis, plan.mesh.coordinate(rank, op.axis) + op.peer);
}

}  // namespace

std::string to_text(const GroupKey& key) {
  if (key.other >= 0) return fmt::format("messages from rank {} to rank {}", key.first, key.other);
  return fmt::format("the {} group of rank {}", to_text(key.axis), key.first);
}

GroupKey group_of(const Plan& plan, Rank rank, const Op& op) {
  if (op.kind == OpKind::send) return {op.axis, rank, partner(plan, rank, op)};
  if (op.kind == OpKind::recv) return {op.axis, partner(plan, rank, op), rank};
  return {op.axis, plan.mesh.group(rank, op.axis).front(), -1};
}

std::vector<Rank> members_of(const Plan& plan, const GroupKey& key) {
  if (key.other >= 0) return {key.first, key.other};
  return plan.mesh.group(key.first, key.axis);
}

std::vector<GroupKey> groups_of(const Plan& plan, Rank rank) {
  std::set<GroupKey> keys;
  for (const Op& op : plan.program(rank).ops)
    if (is_communication(op.kind)) keys.insert(group_of(plan, rank, op));
  return {keys.begin(), keys.end()};
}

std::vector<std::string> message_order_problems(const Plan& plan) {
  std::map<GroupKey, std::array<std::vector<std::uint32_t>, 2>> tags;  // sent, received
  for (Rank r = 0; r < plan.mesh.size(); ++r)
    for (const Op& op : plan.program(r).ops)
      if (is_point_to_point(op.kind)) tags[group_of(plan, r, op)][op.kind == OpKind::send ? 0 : 1].push_back(op.tag);
  std::vector<std::string> problems;
  for (const auto& [key, order] : tags)
    if (order[0] != order[1])
      problems.push_back(fmt::format("{} are not received in the order in which they are sent", to_text(key)));
  return problems;
}

}  // namespace trainwire::cuda
