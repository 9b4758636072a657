#include "backend/cuda/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/load.h"
#include "sim/config/problems.h"

namespace trainwire::cuda {
namespace {

constexpr std::size_t large = std::size_t{256} << 20;  // bytes: far more than any cache
constexpr double gelu_flops = 14;                      // an element, as sim/cost counts them

// One stream, two events, and memory for whatever is measured.
class Bench {
 public:
  Bench(Device& device, std::size_t bytes) : device_(device), stream_(device.make_stream(false)) {
    first_ = device.make_event(true);
    last_ = device.make_event(true);
    memory_ = static_cast<char*>(device.allocate(bytes));
    // Numbers that look random: a GPU multiplies zeros at a higher clock than it can hold.
    std::vector<std::uint16_t> pattern(std::size_t{8} << 20);
    std::uint32_t state = 1;
    for (std::uint16_t& x : pattern) {
      state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
      x = static_cast<std::uint16_t>((state >> 31 << 15) | (0x3e80U + (state >> 16 & 0xffU)));  // bf16: ±0.25 to ±1
    }
    const std::size_t piece = pattern.size() * sizeof pattern[0];
    for (std::size_t place = 0; place + piece <= bytes; place += piece)
      device.upload(memory_ + place, pattern.data(), piece);
  }
  ~Bench() {
    try {
      device_.release(memory_);
    } catch (const std::exception&) {}
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  char* at(std::size_t byte) const { return memory_ + byte; }
  StreamId stream() const { return stream_; }

  // Seconds of one call: the median of five rows of calls, after one that warms up.
  template <class Work>
  double seconds(int calls, const Work& work) {
    std::vector<double> times;
    work();
    for (int row = 0; row < 5; ++row) {
      device_.record(first_, stream_);
      for (int i = 0; i < calls; ++i) work();
      device_.record(last_, stream_);
      device_.synchronise();
      times.push_back(device_.seconds_between(first_, last_) / calls);
    }
    std::sort(times.begin(), times.end());
    return times[2];
  }

 private:
  Device& device_;
  StreamId stream_;
  EventId first_, last_;
  char* memory_;
};

std::vector<std::array<std::int64_t, 3>> shapes(bool quick) {
  if (quick) return {{2048, 2048, 2048}, {8192, 768, 768}};
  return {{256, 256, 256},    {1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192},
          {8192, 768, 768},   {8192, 2304, 768},  {8192, 3072, 768},  {8192, 768, 3072},
          {8192, 50304, 768}, {768, 3072, 8192},  {4096, 8192, 2048}, {4096, 2048, 8192}};
}

void measure_products(Device& device, Bench& bench, bool quick, GpuMeasurements& m) {
  const std::size_t third = large;
  for (const auto& [type, tf32] : {std::pair{Type::bf16, false}, std::pair{Type::fp16, false},
                                   std::pair{Type::fp32, true}, std::pair{Type::fp32, false}})
    for (const auto& [M, N, K] : shapes(quick)) {
      Product p;
      p.M = M;
      p.N = N;
      p.K = K;
      p.lda = K;
      p.ldb = p.ldc = N;
      p.type = p.result = type;
      p.tf32 = tf32;
      p.a = bench.at(0);
      p.b = bench.at(third);
      p.c = bench.at(2 * third);
      const auto biggest = static_cast<std::size_t>(std::max({M * K, K * N, M * N}) * size_of(type));
      if (biggest > 4 * third) continue;
      const double seconds = bench.seconds(
          quick ? 2 : 10, [&] { device.multiply(bench.stream(), p, bench.at(6 * third), m.facts.product_bytes); });
      m.products.push_back({type, tf32, M, N, K, seconds});
    }
}

double launch_seconds(Device& device, Bench& bench, Kernel kernel, std::int64_t n, int calls) {
  Launch l;
  l.kernel = kernel;
  l.type = Type::bf16;
  l.p = {bench.at(0), bench.at(large), bench.at(2 * large)};
  l.n[0] = n;
  return bench.seconds(calls, [&] { device.launch(bench.stream(), l); });
}

void measure_memory(Device& device, Bench& bench, bool quick, GpuMeasurements& m) {
  const std::size_t bytes = quick ? large / 64 : large;
  const auto elements = static_cast<std::int64_t>(bytes / 2);
  m.copy_bandwidth = 2 * static_cast<double>(bytes) /
                     bench.seconds(10, [&] { device.copy(bench.stream(), bench.at(0), bench.at(large), bytes); });
  m.kernel_bandwidth = 3 * static_cast<double>(bytes) / launch_seconds(device, bench, Kernel::add, elements, 10);
  m.vector_rate =
      gelu_flops * static_cast<double>(elements) / launch_seconds(device, bench, Kernel::gelu, elements, 10);
  m.launch_s = launch_seconds(device, bench, Kernel::add, 8, 1000);
  std::vector<char> host(bytes);
  const auto clock = [] { return std::chrono::steady_clock::now(); };
  const auto rate = [&](const auto& copy) {
    copy();
    const auto start = clock();
    for (int i = 0; i < 4; ++i) copy();
    return 4 * static_cast<double>(bytes) / std::chrono::duration<double>(clock() - start).count();
  };
  m.upload_bandwidth = rate([&] { device.upload(bench.at(0), host.data(), bytes); });
  m.download_bandwidth = rate([&] { device.download(host.data(), bench.at(0), bytes); });
}

void measure_attention(Device& device, Bench& bench, bool quick, GpuMeasurements& m) {
  const std::int64_t S = quick ? 64 : 4096, heads = quick ? 1 : 16, d = 128;
  AttentionSizes s{1, S, heads, heads, d, true, 16, 16};
  const auto run = [&](Kernel kernel, const std::array<void*, 7>& p) {
    s.q_rows = s.k_rows = attention_rows(kernel, s, 2, 4, static_cast<Index>(m.facts.shared_bytes));
    Launch l;
    l.kernel = kernel;
    l.type = Type::bf16;
    l.p = p;
    l.n = {s.B, S, heads, heads, d, 1, s.q_rows, s.k_rows};
    return bench.seconds(quick ? 1 : 5, [&] { device.launch(bench.stream(), l); });
  };
  char *o = bench.at(0), *qkv = bench.at(large), *lse = bench.at(2 * large), *dqkv = bench.at(3 * large);
  // 2 products forward, 5 backward, of which the causal mask leaves half (Dao 2023, section 4.1).
  const double product = static_cast<double>(2 * S * S * heads * d) / 2;
  m.attention_forward = 2 * product / run(Kernel::attention, {o, lse, qkv});
  m.attention_backward = 5 * product /
                         (run(Kernel::attention_backward_q, {dqkv, o, qkv, lse, lse}) +
                          run(Kernel::attention_backward_kv, {dqkv, o, qkv, lse, lse}));
}

double rate_of(const MeasuredProduct& p) {
  return 2.0 * static_cast<double>(p.M) * static_cast<double>(p.N) * static_cast<double>(p.K) / p.seconds;
}

// The best rate of a precision, and the median of products of at least 10^10 multiply-adds as a share of it.
struct Rates {
  double best = 0, usual = 1;
};
Rates rates(const GpuMeasurements& m, Type type, bool tf32) {
  std::vector<double> all, big;
  for (const MeasuredProduct& p : m.products)
    if (p.type == type && p.tf32 == tf32) {
      all.push_back(rate_of(p));
      if (static_cast<double>(p.M * p.N) * static_cast<double>(p.K) > 1e10) big.push_back(rate_of(p));
    }
  if (all.empty()) return {};
  Rates r{*std::max_element(all.begin(), all.end()), 1};
  std::sort(big.begin(), big.end());
  if (!big.empty()) r.usual = big[big.size() / 2] / r.best;
  return r;
}

}  // namespace

GpuMeasurements measure_gpu(Device& device, bool quick, const std::function<void(const std::string&)>& say) {
  GpuMeasurements m;
  m.facts = device.facts();
  Bench bench(device, 6 * large + m.facts.product_bytes + 256);
  const auto tell = [&](const char* what) {
    if (say) say(what);
  };
  tell("matrix products by shape and precision");
  measure_products(device, bench, quick, m);
  tell("memory-bound kernels, launches, copies");
  measure_memory(device, bench, quick, m);
  tell("attention");
  measure_attention(device, bench, quick, m);
  return m;
}

std::string to_yaml(const GpuMeasurements& m, const std::string& date, int gpus) {
  const auto sourced = [&](const std::string& value, const std::string& how) {
    return fmt::format("{{value: {}, measured: \"{}; {}; {}\"}}", value, how, m.facts.name, date);
  };
  const auto flops = [](double rate) { return fmt::format("{:.4g} GFLOP/s", rate * 1e-9); };
  std::string text = fmt::format("# measured by trainwire calibrate --backend cuda on {}, {}\n", m.facts.name, date);
  text += fmt::format("# {}\n# attention (causal, bf16, head 128): {} forward, {} backward\n", m.facts.versions,
                      flops(m.attention_forward), flops(m.attention_backward));
  text += fmt::format("# host memory to GPU {:.3g} GB/s, back {:.3g} GB/s (pageable)\n", m.upload_bandwidth * 1e-9,
                      m.download_bandwidth * 1e-9);
  for (const MeasuredProduct& p : m.products)
    text += fmt::format("# product {}{} {} x {} x {}: {:.4g} us, {}\n", p.tf32 ? "tf32" : "",
                        p.tf32                 ? ""
                        : p.type == Type::bf16 ? "bf16"
                        : p.type == Type::fp16 ? "fp16"
                                               : "fp32",
                        p.M, p.N, p.K, p.seconds * 1e6, flops(rate_of(p)));
  text += fmt::format("name: this-machine\nhost:\n  kind: pcie-tree\n  gpus: {}\n  tree: [[", gpus);
  for (int g = 0; g < gpus; ++g) text += fmt::format("{}gpu{}", g > 0 ? ", " : "", g);
  text += "]]\n  pcie:\n";
  text += fmt::format("    bandwidth: {}\n", sourced(fmt::format("{:.3f} GB/s", m.upload_bandwidth * 1e-9),
                                                     "copies from pageable host memory"));
  text += "    latency: {value: 8 us, assumed: \"half of a hop between GPUs of one host; not measured\"}\n";
  text += "    efficiency: {value: 1.0, assumed: \"the bandwidth is a measured one\"}\n";
  text += "  gpu:\n    name: this-gpu\n";
  text += fmt::format("    memory: {}\n",
                      sourced(fmt::format("{:.3f} GiB", m.facts.memory_bytes / (1 << 30)), "cudaMemGetInfo"));
  text += fmt::format("    memory_bandwidth: {}\n", sourced(fmt::format("{:.2f} GB/s", m.copy_bandwidth * 1e-9),
                                                            "a copy on the device, read and written"));
  text += "    peak:\n";
  double usual = 1;
  for (const auto& [name, type, tf32] : {std::tuple{"bf16", Type::bf16, false}, std::tuple{"fp16", Type::fp16, false},
                                         std::tuple{"tf32", Type::fp32, true}, std::tuple{"fp32", Type::fp32, false}}) {
    const Rates r = rates(m, type, tf32);
    if (type == Type::bf16) usual = r.usual;
    text += fmt::format("      {}: {}\n", name, sourced(flops(r.best), "the fastest product of the grid above"));
  }
  text +=
      fmt::format("    vector_rate: {}\n", sourced(flops(m.vector_rate), "gelu, 14 flops an element; bound by memory"));
  text += fmt::format("    multiprocessors: {}\n",
                      sourced(fmt::format("{}", m.facts.multiprocessors), "cudaGetDeviceProperties"));
  text += fmt::format("    product_efficiency: {}\n", sourced(fmt::format("{:.3f}", std::clamp(usual, 0.01, 1.0)),
                                                              "large bf16 products, median against the fastest"));
  text += fmt::format("    memory_efficiency: {}\n",
                      sourced(fmt::format("{:.3f}", std::clamp(m.kernel_bandwidth / m.copy_bandwidth, 0.01, 1.0)),
                              "adding two arrays against the copy"));
  text += fmt::format("    launch: {}\n",
                      sourced(fmt::format("{:.3f} us", m.launch_s * 1e6), "a thousand small kernels in a row"));
  text += "    communication_slowdown: {value: 0.1, assumed: \"not measured with one GPU\"}\n";
  return text;
}

void calibrate(const std::filesystem::path& file, bool quick, const std::function<void(const std::string&)>& say) {
  const std::unique_ptr<Device> device = open_device(0);
  const std::string date = fmt::format(
      "{:%Y-%m-%d %H:%M}", fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const std::string text = to_yaml(measure_gpu(*device, quick, say), date, 1);
  const std::filesystem::path beside = file.string() + ".part";
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream out(beside);
  out << text;
  out.close();
  if (out) std::filesystem::rename(beside, file, error);
  if (!out || error) {
    std::filesystem::remove(beside, error);
    throw ConfigError({{{file.string(), 0}, "", "", "cannot be written", "Give another file with -o"}});
  }
}

}  // namespace trainwire::cuda
