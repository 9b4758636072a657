// Max-min fair rates of weighted transfers over links, kept up to date as transfers start and end. Knows no SimGrid.
// After each change only the transfers and links that are connected to it are solved again.
#pragma once
#include <cstdint>
#include <queue>
#include <vector>

#include "sim/engine/fluid.h"

namespace trainwire {

class MaxMin {
 public:
  int link(double capacity);
  void set_capacity(int link, double capacity);
  void start(double now, const Route& route, double amount, Fluid::Done done);

  void solve(double now);     // brings the rates up to date
  double next_end();          // of the transfers as they run now; negative: none runs
  Fluid::Done finish_next();  // takes the transfer of next_end() out

 private:
  using Index = std::uint32_t;
  struct Use {  // a transfer on a link: which, and which hop of its route
    Index transfer, hop;
  };
  struct Link {
    double capacity = 0;
    std::vector<Use> uses;
    double left = 0, weight = 0;  // while solving: capacity not given out yet, weight of the transfers without a rate
    std::uint32_t version = 0;    // of (left, weight): older entries of the heap are stale
    std::uint32_t epoch = 0;
  };
  struct Transfer {
    const Route* route = nullptr;
    std::vector<Index> position;  // by hop: where in Link::uses
    double left = 0, rate = 0, since = 0;
    std::uint32_t version = 0, epoch = 0;
    bool running = false, fixed = false;
    Fluid::Done done;
  };
  struct End {
    double time;
    Index transfer;
    std::uint32_t version;
    bool operator>(const End& o) const { return time > o.time || (time == o.time && transfer > o.transfer); }
  };
  struct Share {  // of a link: what each unit of weight gets if the link is the next to fill up
    double rate;
    Index link;
    std::uint32_t version;
    bool operator>(const Share& o) const { return rate > o.rate || (rate == o.rate && link > o.link); }
  };

  Link& at(const Hop& hop) { return links_[static_cast<Index>(hop.link)]; }
  void gather();
  void offer(Index link);
  void fix(Index transfer, Index bottleneck, double rate, double now);

  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::vector<Index> free_;
  std::vector<Index> changed_;                      // links
  std::vector<Index> part_links_, part_transfers_;  // connected to what changed
  std::vector<Share> shares_;                       // a heap, smallest first
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint32_t epoch_ = 0;
};

}  // namespace trainwire
