// Communication in a Run: who has to be there, and the transfer once all are.
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/run.h"

namespace trainwire {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void Run::arrive(Instance communication) {
  const SimRank& rank = rank_of(communication);
  const CompiledProgram& program = program_of(communication);
  const auto kind = at(program.communication[at(communication.op)]);
  const std::int32_t g = rank.groups[at(program.communications[kind].endpoint)];
  const std::uint32_t tag = program.source->ops[at(communication.op)].tag;
  std::vector<std::size_t>& open = open_[at(g)];
  auto found = std::find_if(open.begin(), open.end(), [&](std::size_t m) { return meetings_[m].tag == tag; });
  if (found == open.end()) {
    if (free_meetings_.empty()) {
      free_meetings_.push_back(meetings_.size());
      meetings_.emplace_back();
    }
    Meeting& meeting = meetings_[free_meetings_.back()];
    meeting.group = g;
    meeting.transfer = rank.transfers[kind];
    meeting.tag = tag;
    open.push_back(free_meetings_.back());
    free_meetings_.pop_back();
    found = open.end() - 1;
  }
  const std::size_t index = *found;
  Meeting& meeting = meetings_[index];
  if (!agrees(meeting, communication)) return;
  meeting.present.push_back(communication);
  if (meeting.present.size() < network_.groups[at(g)].members.size()) return;
  open.erase(found);
  start(index);
}

bool Run::agrees(const Meeting& meeting, Instance communication) {
  const CompiledProgram& program = program_of(communication);
  const std::int32_t transfer = rank_of(communication).transfers[at(program.communication[at(communication.op)])];
  if (transfer == meeting.transfer) return true;
  const Instance other = meeting.present.front();
  const auto describe = [&](Instance i) {
    const CompiledProgram& p = program_of(i);
    return fmt::format("rank {} has {} of {} bytes", rank_of(i).rank, op_name(*p.source, p.source->ops[at(i.op)]),
                       p.communication_of(i.op).bytes);
  };
  disagreement_ =
      fmt::format("{}, but {}: one communication (tag {})", describe(communication), describe(other), meeting.tag);
  return false;
}

void Run::start(std::size_t m) {
  const Meeting& meeting = meetings_[m];
  const double now = fluid_.now();
  for (const Instance i : meeting.present) span_of(i).start_s = now;
  const SimGroup& group = network_.groups[at(meeting.group)];
  const double latency = group.transfers[at(meeting.transfer)].latency_s;
  occupy(group, 1);
  if (latency <= 0) return start_transfer(m);
  ++activities_;
  fluid_.after(latency, [this, m] {
    start_transfer(m);
    settle();
  });
}

void Run::start_transfer(std::size_t m) {
  const Meeting& meeting = meetings_[m];
  const SimGroup& group = network_.groups[at(meeting.group)];
  const SimTransfer& transfer = group.transfers[at(meeting.transfer)];
  if (transfer.route < 0 || transfer.bytes <= 0) return end_meeting(m);
  for (const Hop& hop : group.routes[at(transfer.route)].all) {
    LinkState& link = links_[at(hop.link)];
    if (link.transfers++ == 0) link.since = fluid_.now();
  }
  ++activities_;
  fluid_.flow(routes_[at(meeting.group)][at(transfer.route)], transfer.bytes, [this, m] {
    end_transfer(m);
    settle();
  });
}

void Run::end_transfer(std::size_t m) {
  const Meeting& meeting = meetings_[m];
  const SimGroup& group = network_.groups[at(meeting.group)];
  const SimTransfer& transfer = group.transfers[at(meeting.transfer)];
  for (const Hop& hop : group.routes[at(transfer.route)].all) {
    LinkState& link = links_[at(hop.link)];
    link.bytes += hop.weight * transfer.bytes;
    if (--link.transfers == 0) link.busy_s += fluid_.now() - link.since;
  }
  end_meeting(m);
}

void Run::end_meeting(std::size_t m) {
  Meeting& meeting = meetings_[m];
  occupy(network_.groups[at(meeting.group)], -1);
  const double now = fluid_.now();
  for (const Instance i : meeting.present) {
    span_of(i).end_s = now;
    --left_;
    const SimHost& host = network_.hosts[at(rank_of(i).program)];
    if (!host.waits.empty() && host.waits[at(i.op)]) {
      double& late = ranks_[at(i.rank)].host_late_s;
      late = std::max(late, now - host.launched_s[at(i.op)]);
    }
    end(i);
  }
  meeting.present.clear();
  free_meetings_.push_back(m);
}

void Run::occupy(const SimGroup& group, double sign) {
  for (const auto& [domain, communications] : group.domains) {
    const std::int32_t d = domain_index_[at(domain)];
    if (d < 0) continue;
    domains_[at(d)].add_communicating(sign * communications);
    changed_domains_.push_back(d);
  }
}

}  // namespace trainwire
