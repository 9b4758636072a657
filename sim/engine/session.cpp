#include "sim/engine/session.h"

#include <array>
#include <cmath>
#include <simgrid/kernel/Timer.hpp>
#include <stdexcept>
#include <string>

namespace trainwire {

namespace {

// Options can be set only before the first zone of the process; the first engine's command line is early enough in
// every version. CM02 has bandwidth and latency factors of 1; crosstraffic would add 5 % of traffic the other way.
std::vector<std::string> engine_arguments(bool first) {
  std::vector<std::string> arguments{"trainwire", "--log=root.thres:critical"};
  if (!first) return arguments;
  arguments.insert(arguments.end(),
                   {"--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                    SIMGRID_VERSION >= 33400 ? "--cfg=precision/timing:1e-12" : "--cfg=surf/precision:1e-12"});
  return arguments;
}

struct Process {
  bool configured = false, running = false;
};
Process& process() {
  static Process state;
  return state;
}

}  // namespace

Session::Session() {
  if (process().running) throw std::logic_error("SimGrid has one engine a process, and one is there already");
  std::vector<std::string> arguments = engine_arguments(!process().configured);
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  engine_ = std::make_unique<simgrid::s4u::Engine>(&argc, argv.data());
  process() = {true, true};
  start_ = simgrid::s4u::Engine::get_clock();
}

Session::~Session() {
  engine_.reset();
  process().running = false;
}

double Session::now() const { return simgrid::s4u::Engine::get_clock() - start_; }

void Session::after(double seconds, Fluid::Done done) {
  simgrid::kernel::timer::Timer::set(simgrid::s4u::Engine::get_clock() + seconds, std::move(done));
}

std::unique_ptr<Fluid> make_fluid(Solver solver) {
  return solver == Solver::simgrid ? make_fluid_simgrid() : make_fluid_model();
}

Solver suitable_solver(std::size_t transfers_in_flight, const std::vector<const Route*>& routes) {
  // Measured on SimGrid 3.32: above these its own solver costs tens to hundreds of microseconds a transfer.
  constexpr std::size_t most_in_flight = 1000, most_links = 64;
  constexpr double most_repetitions = 1024;
  if (transfers_in_flight > most_in_flight) return Solver::maxmin;
  for (const Route* route : routes) {
    double repetitions = 0;
    for (const Hop& hop : *route) {
      if (hop.weight != std::round(hop.weight)) return Solver::maxmin;
      repetitions += hop.weight;
    }
    if (route->size() > most_links || repetitions > most_repetitions) return Solver::maxmin;
  }
  return Solver::simgrid;
}

}  // namespace trainwire
