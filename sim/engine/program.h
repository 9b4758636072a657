// A Program as the engine walks it: what waits for what, which operations are one piece of computing, who communicates.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/plan.h"

namespace trainwire {

// How a rank takes part in the communication of an axis.
struct Endpoint {
  enum class Part : std::uint8_t { member, sender, receiver } part = Part::member;
  Axis axis = Axis::tensor;
  int steps = 0;              // sender, receiver: to the other rank, in [0, degree)
  std::uint32_t streams = 0;  // bit i: Stream i uses it
};

// What communication operations with one endpoint and size have in common.
struct Communication {
  int endpoint = 0;            // into CompiledProgram::endpoints
  OpKind kind = OpKind::send;  // a receive is the send of its peer
  double bytes = 0;
};

// A piece is one communication, or computing operations in a row of which other streams wait only for the last and
// hold up only the first. Pieces are known by their first operation.
struct CompiledProgram {
  const Program* source = nullptr;
  std::vector<std::uint32_t> waits;         // by first operation: how many pieces must end before
  std::vector<OpId> last;                   // by first operation: the piece's last one
  std::vector<OpId> next;                   // by last operation: the next piece on the stream, -1: none
  std::vector<std::uint32_t> waiters_from;  // by operation (and one more): its waiters' place in `waiters`
  std::vector<OpId> waiters;                // pieces of other streams
  std::vector<std::int32_t> communication;  // by operation: into communications, -1: it computes
  std::vector<Endpoint> endpoints;
  std::vector<Communication> communications;
  std::vector<OpId> first;  // pieces that wait for nothing

  std::span<const OpId> waiters_of(OpId op) const {
    const auto i = static_cast<std::size_t>(op);
    return {waiters.data() + waiters_from[i], waiters_from[i + 1] - waiters_from[i]};
  }
  const Communication& communication_of(OpId op) const {
    return communications[static_cast<std::size_t>(communication[static_cast<std::size_t>(op)])];
  }
};

CompiledProgram compile(const Program&, const DeviceMesh&);

}  // namespace trainwire
