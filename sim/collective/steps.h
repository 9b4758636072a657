// Step lists of the algorithms, by number of members.
#pragma once
#include "sim/collective/collective.h"

namespace trainwire {

// all_reduce, reduce_scatter (leaves chunk i at member i), all_gather (chunk i is at member i before).
StepList ring_steps(OpKind kind, int members);
// One round: broadcast from member 0; all_to_all: chunk `to` of the sender becomes chunk `from` of the receiver's
// output; permute: to the next member, around; send and recv: member 0 to member 1.
StepList direct_steps(OpKind kind, int members);
// all_reduce by recursive halving and doubling (Thakur, Rabenseifner, Gropp 2005); members beyond a power of two hand
// their data to a partner first and get the result last.
StepList halving_doubling_steps(OpKind kind, int members);
// all_reduce over a double binary tree, half the buffer each.
StepList tree_steps(OpKind kind, int members);
// all_reduce with the chunk of each member reduced and multicast at one place; in NVSwitches where they can.
StepList nvls_steps(OpKind kind, int members);
// all_reduce: ring reduce-scatter among each `per_node` consecutive members, rings between the groups, all-gather.
StepList hierarchical_steps(int members, int per_node);
StepList hierarchical_steps(OpKind kind, int members);  // per_node: the largest divisor of `members` up to 8

}  // namespace trainwire
