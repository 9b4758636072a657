// Fluid by SimGrid's own solver: a transfer is one s4u::Comm between two token hosts, in a zone of ours that answers
// every question for a route with the links of the transfer being started.
#include <cmath>
#include <cstdint>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <stdexcept>
#include <string>

#include "sim/engine/session.h"

namespace trainwire {

namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

// A payload is a whole number: counting in 1/1024 of a unit keeps the rounding below a thousandth of a byte.
constexpr double grain = 1024;
constexpr double unbounded = 1e30;

class Zone : public routing::NetZoneImpl {
 public:
  const Route* starting = nullptr;
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> links;

  explicit Zone(const std::string& name) : NetZoneImpl(name) {}

  // A link listed n times is consumed n times. No latency is added: SimGrid would share in proportion to 1/latency,
  // and two latencies that end at one instant can leave a link over-committed (a bug from 3.32 to 4.1).
  void get_local_route(const routing::NetPoint*, const routing::NetPoint*, routing::Route* into, double*) override {
    for (const Hop& hop : *starting)
      into->link_list_.insert(into->link_list_.end(), static_cast<std::size_t>(std::lround(hop.weight)),
                              links[static_cast<std::size_t>(hop.link)]);
  }
};

class FluidSimgrid : public Fluid {
 public:
  FluidSimgrid() : zone_(new Zone("fluid")) {  // the engine owns it
    s4u::NetZone* zone = zone_->get_iface();
#if SIMGRID_VERSION >= 40000
    zone_->set_parent(session_.engine().get_netzone_root()->get_impl());
    from_ = zone->add_host("from", 1e9);
    to_ = zone->add_host("to", 1e9);
#else
    from_ = zone->create_host("from", 1e9);
    to_ = zone->create_host("to", 1e9);
#endif
    current() = this;
    connect();
  }
  ~FluidSimgrid() override { current() = nullptr; }
  FluidSimgrid(const FluidSimgrid&) = delete;
  FluidSimgrid& operator=(const FluidSimgrid&) = delete;

  int link(double bandwidth, bool varies) override {
    const std::string name = "link" + std::to_string(links_.size());
#if SIMGRID_VERSION >= 40000
    s4u::Link* made = zone_->get_iface()->add_link(name, bandwidth * grain);
#else
    s4u::Link* made = zone_->get_iface()->create_link(name, bandwidth * grain);
#endif
    links_.push_back({made, bandwidth * grain, varies});
    zone_->links.push_back(made->get_impl());
    return static_cast<int>(links_.size()) - 1;
  }

  void set_bandwidth(int link, double bandwidth) override {
    Link& changed = links_[static_cast<std::size_t>(link)];
    if (!changed.varies) throw std::logic_error("a link that was made not to vary has its bandwidth set");
    changed.bandwidth = bandwidth * grain;
    changed.link->set_bandwidth(changed.bandwidth);
  }

  void flow(const Route& route, double amount, Done done) override {
    const auto payload = static_cast<std::uint64_t>(std::llround(amount * grain));
    if (payload == 0 || route.empty()) return after(0, std::move(done));
    std::size_t slot = transfers_.size();
    if (free_.empty()) {
      transfers_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    zone_->starting = &route;  // read inside start()
    s4u::CommPtr comm = s4u::Comm::sendto_init(from_, to_);
    comm->set_payload_size(payload);
    comm->set_data(reinterpret_cast<void*>(slot + 1));
    transfers_[slot] = {comm, std::move(done)};
    // SimGrid bounds a transfer for all its time by the bandwidths it finds at its start.
    for (const Hop& hop : route)
      if (const Link& link = links_[static_cast<std::size_t>(hop.link)]; link.varies)
        link.link->set_bandwidth(unbounded);
    comm->start();
    for (const Hop& hop : route)
      if (const Link& link = links_[static_cast<std::size_t>(hop.link)]; link.varies)
        link.link->set_bandwidth(link.bandwidth);
  }

  void after(double seconds, Done done) override { session_.after(seconds, std::move(done)); }

  void run() override {
    if (!sealed_) zone_->get_iface()->seal();
    sealed_ = true;
    session_.engine().run();
    ended_ = nullptr;
  }

  double now() const override { return session_.now(); }

 private:
  struct Link {
    s4u::Link* link;
    double bandwidth;
    bool varies;
  };
  struct Transfer {
    s4u::CommPtr comm;
    Done done;
  };

  // SimGrid's signals outlive its engines: they are connected once a process and ask for the Fluid of the moment.
  static FluidSimgrid*& current() {
    static FluidSimgrid* fluid = nullptr;
    return fluid;
  }
  static void connect() {
    static bool connected = false;
    if (connected) return;
    connected = true;
#if SIMGRID_VERSION >= 33400
    s4u::Comm::on_completion_cb([](const s4u::Comm& comm) { current()->finish(comm); });
#else
    s4u::Activity::on_completion_cb([](const s4u::Activity& activity) { current()->finish(activity); });
#endif
  }

  template <class Activity>
  void finish(const Activity& activity) {
    const auto tag = reinterpret_cast<std::uintptr_t>(activity.template get_data<void>());
    if (tag == 0) return;
    Transfer& transfer = transfers_[tag - 1];
    ended_ = std::move(transfer.comm);  // the last reference must not go inside the comm's own completion
    const Done done = std::move(transfer.done);
    free_.push_back(tag - 1);
    done();
  }

  Session session_;
  Zone* zone_;
  s4u::Host *from_ = nullptr, *to_ = nullptr;
  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::vector<std::size_t> free_;
  s4u::CommPtr ended_;
  bool sealed_ = false;
};

}  // namespace

std::unique_ptr<Fluid> make_fluid_simgrid() { return std::make_unique<FluidSimgrid>(); }

}  // namespace trainwire
