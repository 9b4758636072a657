// Fluid by our own solver: a SimGrid model, added to the engine, that says when its next transfer ends.
#include <algorithm>
#include <simgrid/kernel/resource/Model.hpp>

#include "sim/engine/maxmin.h"
#include "sim/engine/session.h"

namespace trainwire {

namespace {

class MaxMinModel : public simgrid::kernel::resource::Model {
 public:
  MaxMin rates;

  MaxMinModel() : Model("maxmin") {}

  double next_occurring_event(double now) override {
    rates.solve(now);
    const double end = rates.next_end();
    return end < 0 ? -1 : std::max(0.0, end - now);
  }

  void update_actions_state(double now, double) override {
    constexpr double precision = 1e-12;  // seconds, as the engine's own
    for (double end = rates.next_end(); end >= 0 && end <= now + precision; end = rates.next_end())
      rates.finish_next()();
  }
};

class FluidModel : public Fluid {
 public:
  FluidModel() {
#if SIMGRID_VERSION < 40000
    simgrid::s4u::create_full_zone("root")->seal();  // an engine without a zone cannot run
#endif
    session_.engine().add_model(model_);
  }

  int link(double bandwidth, bool) override { return model_->rates.link(bandwidth); }
  void set_bandwidth(int link, double bandwidth) override { model_->rates.set_capacity(link, bandwidth); }

  void flow(const Route& route, double amount, Done done) override {
    if (amount <= 0 || route.empty()) return after(0, std::move(done));
    model_->rates.start(simgrid::s4u::Engine::get_clock(), route, amount, std::move(done));
  }

  void after(double seconds, Done done) override { session_.after(seconds, std::move(done)); }
  void run() override { session_.engine().run(); }
  double now() const override { return session_.now(); }

 private:
  Session session_;
  std::shared_ptr<MaxMinModel> model_ = std::make_shared<MaxMinModel>();
};

}  // namespace

std::unique_ptr<Fluid> make_fluid_model() { return std::make_unique<FluidModel>(); }

}  // namespace trainwire
