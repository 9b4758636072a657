// One SimGrid engine, set up for this simulator; what differs between SimGrid 3.32 and 4.x starts here.
#pragma once
// version.h does not stand on its own.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
// clang-format on

#include "sim/engine/fluid.h"

namespace trainwire {

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  simgrid::s4u::Engine& engine() { return *engine_; }
  double now() const;  // since this session began: SimGrid's clock goes on from one engine to the next
  void after(double seconds, Fluid::Done done);

 private:
  std::unique_ptr<simgrid::s4u::Engine> engine_;
  double start_ = 0;
};

std::unique_ptr<Fluid> make_fluid_simgrid();
std::unique_ptr<Fluid> make_fluid_model();

}  // namespace trainwire
