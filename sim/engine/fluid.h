// Fluid transfers over shared links, and timers: the calls the simulator makes. Two solvers stand behind them and must
// agree: SimGrid's own, and ours (maxmin.h) as a SimGrid model.
#pragma once
#include <functional>
#include <memory>
#include <vector>

namespace trainwire {

// A link of a route, and how many units cross it for each unit of the transfer's progress.
struct Hop {
  int link;
  double weight = 1;
};
using Route = std::vector<Hop>;

enum class Solver { simgrid, maxmin };

// Rates are max-min fair: every transfer progresses as fast as the next one until a link of its route is full.
class Fluid {
 public:
  using Done = std::function<void()>;

  virtual ~Fluid() = default;
  // Units per second, > 0. All links are made before run(); set_bandwidth is for those that vary.
  virtual int link(double bandwidth, bool varies = false) = 0;
  virtual void set_bandwidth(int link, double bandwidth) = 0;
  // The route is not copied: it must outlive the transfer. Transfers under way share from the next event on.
  virtual void flow(const Route& route, double amount, Done) = 0;
  virtual void after(double seconds, Done) = 0;
  virtual void run() = 0;  // until nothing is left to happen
  virtual double now() const = 0;
};

// SimGrid has one engine a process: the last Fluid must be gone before the next is made (std::logic_error).
std::unique_ptr<Fluid> make_fluid(Solver);

// The solver for routes like these: SimGrid's own while it is fast (few transfers in flight, short routes) and exact
// (it counts a link a whole number of times).
Solver suitable_solver(std::size_t transfers_in_flight, const std::vector<const Route*>& routes);

}  // namespace trainwire
