#include "sim/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace trainwire {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Run::Run(const Network& network, Fluid& fluid) : network_(network), fluid_(fluid) {
  for (const SimDomain& d : network.domains) {
    domain_index_.push_back(d.contended ? static_cast<std::int32_t>(domains_.size()) : -1);
    if (d.contended) domains_.emplace_back(*d.spec, fluid);
  }
  for (const SimRank& rank : network.ranks) {
    const CompiledProgram& program = network.programs[at(rank.program)];
    ranks_.push_back({program.waits, std::vector<Span>(program.waits.size(), Span{0, -1})});
    const std::int32_t d = domain_index_[at(rank.domain)];
    compute_routes_.push_back(d < 0 ? Route{} : Route{{domains_[at(d)].link(), rank.in_domain}});
    left_ += program.waits.size();
  }
  std::vector<int> fluid_link(network.links.size(), -1);
  links_.resize(network.links.size());
  for (const SimGroup& group : network.groups) {
    std::vector<Route> routes;
    for (const SimRoute& route : group.routes) {
      Route over_fluid = route.binding;
      for (Hop& hop : over_fluid) {
        int& link = fluid_link[at(hop.link)];
        if (link < 0) link = fluid.link(network.links[at(hop.link)].capacity);
        hop.link = link;
      }
      routes.push_back(std::move(over_fluid));
    }
    routes_.push_back(std::move(routes));
  }
  open_.resize(network.groups.size());
}

Timeline Run::run() {
  for (std::size_t r = 0; r < network_.ranks.size(); ++r)
    for (const OpId op : network_.programs[at(network_.ranks[r].program)].first)
      ready_.push_back({static_cast<std::int32_t>(r), op});
  fluid_.after(0, [this] { settle(); });
  fluid_.run();
  if (!disagreement_.empty()) throw std::logic_error(disagreement_);
  if (left_ > 0) {
    Stuck stuck{network_, {}, {}, {}};
    for (const RankState& r : ranks_) {
      stuck.spans.push_back(&r.spans);
      stuck.waits.push_back(&r.waits);
    }
    for (const auto& open : open_)
      for (const std::size_t m : open) stuck.open.push_back(&meetings_[m]);
    throw std::runtime_error(who_waits(stuck));
  }
  return result();
}

Span& Run::span_of(Instance i) { return ranks_[at(i.rank)].spans[at(i.op)]; }

void Run::settle() {
  while (!ready_.empty()) {
    const Instance piece = ready_.front();
    ready_.pop_front();
    begin(piece);
  }
  for (const std::int32_t d : changed_domains_) domains_[at(d)].update();
  changed_domains_.clear();
}

double Run::launched(Instance i) const {
  const SimHost& host = network_.hosts[at(rank_of(i).program)];
  return host.launched_s.empty() ? 0 : host.launched_s[at(i.op)] + ranks_[at(i.rank)].host_late_s;
}

void Run::begin(Instance piece) {
  const double ahead = launched(piece) - fluid_.now();
  if (ahead <= 0) return launch(piece);
  fluid_.after(ahead, [this, piece] {
    launch(piece);
    settle();
  });
}

void Run::launch(Instance piece) {
  if (program_of(piece).communication[at(piece.op)] >= 0) {
    arrive(piece);
  } else {
    compute(piece);
  }
}

// The piece that ends with `last` is over: its successor on the stream and its waiters may be ready.
void Run::end(Instance last) {
  const CompiledProgram& program = program_of(last);
  std::vector<std::uint32_t>& waits = ranks_[at(last.rank)].waits;
  const auto release = [&](OpId op) {
    if (--waits[at(op)] == 0) ready_.push_back({last.rank, op});
  };
  if (const OpId next = program.next[at(last.op)]; next >= 0) release(next);
  for (const OpId op : program.waiters_of(last.op)) release(op);
}

void Run::compute(Instance piece) {
  const SimRank& rank = rank_of(piece);
  const CompiledProgram& program = program_of(piece);
  const double now = fluid_.now();
  double seconds = 0;
  std::vector<double> each;  // an operation that is not launched yet when its turn comes starts late
  for (OpId op = piece.op; op <= program.last[at(piece.op)]; ++op) {
    const double late = std::max(0.0, launched({piece.rank, op}) - (now + seconds));
    each.push_back(late + (*rank.seconds)[program.source->ops[at(op)].prototype]);
    seconds += each.back();
  }
  const std::int32_t d = domain_index_[at(rank.domain)];
  if (d >= 0) {
    domains_[at(d)].add_computing(rank.in_domain);
    changed_domains_.push_back(d);
  }
  if (seconds <= 0) return end_compute(piece, now, each);
  ++activities_;
  const auto ended = [this, piece, now, each = std::move(each)] {
    end_compute(piece, now, each);
    settle();
  };
  if (d < 0) {
    fluid_.after(seconds, ended);
  } else {
    fluid_.flow(compute_routes_[at(piece.rank)], seconds * Domain::units_per_second, ended);
  }
}

void Run::end_compute(Instance piece, double start, const std::vector<double>& seconds) {
  const SimRank& rank = rank_of(piece);
  const CompiledProgram& program = program_of(piece);
  const OpId last = program.last[at(piece.op)];
  const std::span<Span> spans{&span_of(piece), seconds.size()};
  const std::int32_t d = domain_index_[at(rank.domain)];
  if (d >= 0) {
    domains_[at(d)].fill(start, seconds, spans);
    domains_[at(d)].add_computing(-rank.in_domain);
    changed_domains_.push_back(d);
  } else {
    double time = start;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      spans[i] = {time, time + seconds[i]};
      time = spans[i].end_s;
    }
    spans.back().end_s = fluid_.now();
  }
  left_ -= spans.size();
  end({piece.rank, last});
}

Timeline Run::result() const {
  Timeline timeline;
  timeline.kind = "simulated";
  timeline.executor = "simgrid";
  timeline.timeline_of = network_.class_of_rank;
  timeline.activities = activities_;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    timeline.ranks.push_back({network_.ranks[r].rank, ranks_[r].spans});
    for (const Span& span : ranks_[r].spans) timeline.step_time_s = std::max(timeline.step_time_s, span.end_s);
  }
  timeline.links = link_uses();
  return timeline;
}

std::vector<LinkUse> Run::link_uses() const {
  std::vector<LinkUse> uses;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const SimLink& link = network_.links[l];
    if (link.used) uses.push_back({link.link, links_[l].bytes, links_[l].busy_s, link.copies});
  }
  return uses;
}

}  // namespace trainwire
