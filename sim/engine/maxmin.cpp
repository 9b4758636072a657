#include "sim/engine/maxmin.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainwire {

int MaxMin::link(double capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<int>(links_.size()) - 1;
}

void MaxMin::set_capacity(int link, double capacity) {
  links_[static_cast<Index>(link)].capacity = capacity;
  changed_.push_back(static_cast<Index>(link));
}

void MaxMin::start(double now, const Route& route, double amount, Fluid::Done done) {
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(transfers_.size()));
    transfers_.emplace_back();
  }
  const Index index = free_.back();
  free_.pop_back();
  Transfer& transfer = transfers_[index];
  transfer.route = &route;
  transfer.position.resize(route.size());
  transfer.left = amount;
  transfer.rate = 0;
  transfer.since = now;
  transfer.version++;
  transfer.running = true;
  transfer.done = std::move(done);
  for (Index h = 0; h < route.size(); ++h) {
    Link& link = at(route[h]);
    transfer.position[h] = static_cast<Index>(link.uses.size());
    link.uses.push_back({index, h});
    changed_.push_back(static_cast<Index>(route[h].link));
  }
}

double MaxMin::next_end() {
  while (!ends_.empty()) {
    const End& end = ends_.top();
    const Transfer& transfer = transfers_[end.transfer];
    if (transfer.running && transfer.version == end.version) return end.time;
    ends_.pop();
  }
  return -1;
}

Fluid::Done MaxMin::finish_next() {
  const Index index = ends_.top().transfer;
  ends_.pop();
  Transfer& transfer = transfers_[index];
  for (Index h = 0; h < transfer.route->size(); ++h) {
    const Hop& hop = (*transfer.route)[h];
    Link& link = at(hop);
    const Use last = link.uses.back();  // takes the place of the one that leaves
    link.uses[transfer.position[h]] = last;
    transfers_[last.transfer].position[last.hop] = transfer.position[h];
    link.uses.pop_back();
    changed_.push_back(static_cast<Index>(hop.link));
  }
  transfer.running = false;
  free_.push_back(index);
  return std::move(transfer.done);
}

// Everything that is connected to a changed link through transfers.
void MaxMin::gather() {
  ++epoch_;
  part_links_.clear();
  part_transfers_.clear();
  const auto reach = [this](Index l) {
    if (std::exchange(links_[l].epoch, epoch_) != epoch_) part_links_.push_back(l);
  };
  for (const Index l : changed_) reach(l);
  changed_.clear();
  for (std::size_t i = 0; i < part_links_.size(); ++i) {  // grows meanwhile
    for (const Use& use : links_[part_links_[i]].uses) {
      Transfer& transfer = transfers_[use.transfer];
      if (std::exchange(transfer.epoch, epoch_) == epoch_) continue;
      transfer.fixed = false;
      part_transfers_.push_back(use.transfer);
      for (const Hop& hop : *transfer.route) reach(static_cast<Index>(hop.link));
    }
  }
}

void MaxMin::offer(Index l) {
  const Link& link = links_[l];
  shares_.push_back({std::max(0.0, link.left) / link.weight, l, link.version});
}

// Progressive filling: the link that fills up first at equal rates fixes the rate of its transfers; the others go on.
void MaxMin::solve(double now) {
  if (changed_.empty()) return;
  gather();
  shares_.clear();
  for (const Index l : part_links_) {
    Link& link = links_[l];
    link.left = link.capacity;
    link.weight = 0;
    for (const Use& use : link.uses) link.weight += (*transfers_[use.transfer].route)[use.hop].weight;
    link.version++;
    if (link.weight > 0) offer(l);
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
  const auto fixed_before = [this](const Use& use) { return transfers_[use.transfer].fixed; };
  for (std::size_t left = part_transfers_.size(); left > 0 && !shares_.empty();) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    const Share share = shares_.back();
    shares_.pop_back();
    Link& link = links_[share.link];
    if (share.version != link.version) continue;
    link.version++;
    for (const Use& use : link.uses) {
      if (fixed_before(use)) continue;
      fix(use.transfer, share.link, share.rate, now);
      --left;
    }
  }
}

void MaxMin::fix(Index index, Index bottleneck, double rate, double now) {
  constexpr double same = 1e-12;     // rates closer than this are one rate: no new end
  constexpr double nothing = 1e-12;  // of weight: what rounding leaves when the last transfer is taken off
  Transfer& transfer = transfers_[index];
  transfer.fixed = true;
  if (std::fabs(rate - transfer.rate) > same * rate) {
    transfer.left = std::max(0.0, transfer.left - transfer.rate * (now - transfer.since));
    transfer.since = now;
    transfer.rate = rate;
    ends_.push({now + transfer.left / rate, index, ++transfer.version});
  }
  for (const Hop& hop : *transfer.route) {
    const auto l = static_cast<Index>(hop.link);
    if (l == bottleneck) continue;
    Link& link = links_[l];
    link.left -= hop.weight * rate;
    link.weight -= hop.weight;
    link.version++;
    if (link.weight <= nothing) continue;
    offer(l);
    std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
  }
}

}  // namespace trainwire
