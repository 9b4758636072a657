// The communicators that a plan needs, and the order in which ranks use them.
#pragma once
#include <compare>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace trainwire::cuda {

// A group of ranks that talk to each other: the group of an axis for collectives; sender and receiver for messages.
// Each direction between two ranks has its own, because calls on one communicator run in order: were both directions on
// one, two ranks that send to each other first would wait for ever.
struct GroupKey {
  Axis axis = Axis::tensor;
  Rank first = 0;   // the group's first member; the sender
  Rank other = -1;  // the receiver; -1: a group for collectives
  auto operator<=>(const GroupKey&) const = default;
};
std::string to_text(const GroupKey&);

GroupKey group_of(const Plan& plan, Rank rank, const Op& op);
std::vector<Rank> members_of(const Plan& plan, const GroupKey& key);

// Every group that operations of the rank's program use, in order.
std::vector<GroupKey> groups_of(const Plan& plan, Rank rank);

// One line a pair of ranks whose messages are not received in the order they are sent: NCCL matches them by order.
std::vector<std::string> message_order_problems(const Plan& plan);

}  // namespace trainwire::cuda
