// What goes wrong on a GPU, tried on the host device: each call fails once, a device hangs, something is not installed.
#include <cstdlib>
#include <set>

#include "backend/cuda/execute.h"
#include "backend/cuda/load.h"
#include "tests/cuda/training.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

ExecuteOptions two_steps() {
  ExecuteOptions options;
  options.steps = 1;
  return options;
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) { return e.what(); }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("whichever call to the device fails, the run ends with that call in its message") {
  const Scenario s = make_scenario(tiny_gpt(), {}, 2);
  const Plan plan = build_plan(s);
  int calls = 0;
  {
    cuda::HostWorld world(1);
    cuda::HostDevice device(world);
    cuda::execute_on(MPI_COMM_NULL, device, s, plan, two_steps());
    calls = device.calls();
  }
  std::set<std::string> failed;
  for (int n = 0; n < calls; n += 1 + n / 4) {  // all of the first, then fewer and fewer
    cuda::HostWorld world(1);
    cuda::HostDevice device(world);
    device.fail_call(n);
    const std::string message = message_of([&] { cuda::execute_on(MPI_COMM_NULL, device, s, plan, two_steps()); });
    CAPTURE(n, message);
    CHECK(contains(message, "failed on purpose"));
    failed.insert(message.substr(0, message.find(':')));
  }
  CHECK(failed.size() >= 8);
}

TEST_CASE("a run on the host device gives a timeline with the plan's operations") {
  const Scenario s = make_scenario(tiny_gpt(), {}, 4);
  const Plan plan = build_plan(s);
  cuda::HostWorld world(1);
  cuda::HostDevice device(world);
  ExecuteOptions options;
  options.steps = 3;
  options.measure_overhead = true;
  const Result r = cuda::execute_on(MPI_COMM_NULL, device, s, plan, options);
  CHECK(r.timeline.executor == "cuda");
  CHECK(r.timeline.loss.size() == 4);
  CHECK(r.timeline.step_times_s.size() == 3);
  REQUIRE(r.timeline.ranks.size() == 1);
  REQUIRE(r.timeline.ranks[0].spans.size() == plan.programs[0].ops.size());
  for (const Span& span : r.timeline.ranks[0].spans) CHECK(span.end_s > span.start_s);
}

TEST_CASE("a device that hangs is given up after the time-out, and the message says where it was") {
  const Scenario s = make_scenario(tiny_gpt(), {}, 2);
  cuda::HostWorld world(1);
  world.stuck = true;
  cuda::HostDevice device(world);
  setenv("TRAINWIRE_TIMEOUT_S", "0.2", 1);
  const std::string message =
      message_of([&] { cuda::execute_on(MPI_COMM_NULL, device, s, build_plan(s), two_steps()); });
  unsetenv("TRAINWIRE_TIMEOUT_S");
  CAPTURE(message);
  CHECK(contains(message, "rank 0: nothing has ended for 0.2 s"));
  CHECK(contains(message, "compute: embedding embedding forward mb 0"));
}

TEST_CASE("where the plug-in, the driver or a library is missing, the message names it and says what to do") {
  CHECK(contains(cuda::no_plugin_message("a.so", ""), "-DTRAINWIRE_CUDA=ON"));
  CHECK(contains(cuda::no_plugin_message("a.so", "libnccl.so.2: cannot open shared object file"), "NCCL is missing"));
  CHECK(contains(cuda::no_plugin_message("a.so", "libcublasLt.so.13: cannot open"),
                 "cuBLAS of the CUDA Toolkit is missing"));
  CHECK(contains(cuda::no_plugin_message("a.so", "libcuda.so.1: cannot open"), "the NVIDIA driver is missing"));
}

TEST_CASE("what the CUDA backend cannot run is refused with a way out") {
  Scenario s = make_scenario(tiny_gpt(), {});
  s.training.precision = trainwire::Precision::fp8;
  CHECK(contains(message_of([&] { cuda::check_executable(s); }), "Use --set training.precision=bf16"));
  s.training.precision = trainwire::Precision::fp16;
  s.training.grad_dtype = DType::bf16;
  CHECK(contains(message_of([&] { cuda::check_executable(s); }), "training.grad_dtype = bf16"));
}

TEST_CASE("ranks receive in the order in which their partners send, for every mesh") {
  for (const Degrees d : {Degrees{1, 1, 2}, Degrees{2, 1, 4}, Degrees{2, 2, 2}, Degrees{1, 1, 4}})
    CHECK(cuda::message_order_problems(build_plan(make_scenario(tiny_gpt(), d))).empty());
}
