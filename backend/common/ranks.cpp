#include "backend/common/ranks.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "sim/config/problems.h"

namespace trainwire {
namespace {

// Waits without MPI's own spinning, so that ranks that share a core get on, and gives up after the time-out.
void wait_for(MPI_Request request, Rank rank, const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  int done = 0;
  for (int polls = 0; done == 0; ++polls) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    if (polls < 200) {
      sched_yield();
      continue;
    }
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > timeout_s())
      abort_run(rank, fmt::format("waited {:g} s for the other ranks at {}", timeout_s(), what));
  }
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{}: {}", call, std::string(text, static_cast<std::size_t>(length))));
}

double timeout_s() {
  const char* text = std::getenv("TRAINWIRE_TIMEOUT_S");
  const double seconds = text != nullptr ? std::atof(text) : 0;
  return seconds > 0 ? seconds : 60;
}

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void abort_run(Rank rank, const std::string& message) {
  std::fputs(fmt::format("rank {}: {}\n", rank, message).c_str(), stderr);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();  // MPI_Abort does not return
}

void all_or_none(const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError&) { throw; } catch (const std::exception& e) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    abort_run(rank, e.what());
  }
}

void initialise_mpi() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) return;
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw std::runtime_error("this MPI does not allow threads beside the one that calls it");
  std::atexit([] {
    int finalised = 0;
    MPI_Finalized(&finalised);
    if (finalised == 0) MPI_Finalize();
  });
}

Ranks::Ranks(MPI_Comm comm) {
  axes_.fill(MPI_COMM_NULL);
  if (comm == MPI_COMM_NULL) return;
  check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  for (MPI_Comm& axis : axes_) check(MPI_Comm_dup(comm_, &axis), "MPI_Comm_dup");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
}

Ranks::~Ranks() {
  if (comm_ == MPI_COMM_NULL) return;
  for (MPI_Comm& axis : axes_) MPI_Comm_free(&axis);
  MPI_Comm_free(&comm_);
}

void Ranks::barrier(const std::string& what) const {
  if (size_ == 1) return;
  MPI_Request request;
  check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  wait_for(request, rank_, what);
}

std::vector<double> Ranks::reduce(std::vector<double> values, MPI_Op op) const {
  if (size_ == 1 || values.empty()) return values;
  MPI_Request request;
  check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op, comm_, &request),
        "MPI_Iallreduce");
  wait_for(request, rank_, "the sums at the end of the run");
  return values;
}

std::vector<double> Ranks::sum(std::vector<double> values) const { return reduce(std::move(values), MPI_SUM); }
std::vector<double> Ranks::maximum(std::vector<double> values) const { return reduce(std::move(values), MPI_MAX); }
std::vector<double> Ranks::minimum(std::vector<double> values) const { return reduce(std::move(values), MPI_MIN); }

std::vector<std::vector<std::byte>> Ranks::gather(const std::vector<std::byte>& mine) const {
  if (size_ == 1) return {mine};
  constexpr int tag = 1;
  constexpr std::size_t largest = std::size_t{1} << 30;  // MPI counts are int
  if (rank_ != 0) {
    for (std::size_t at = 0; at < mine.size(); at += largest) {
      const auto count = static_cast<int>(std::min(largest, mine.size() - at));
      check(MPI_Send(mine.data() + at, count, MPI_BYTE, 0, tag, comm_), "MPI_Send");
    }
    check(MPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm_), "MPI_Send");
    return {};
  }
  std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(size_));
  all[0] = mine;
  for (int from = 1; from < size_; ++from) {
    auto& bytes = all[static_cast<std::size_t>(from)];
    for (;;) {
      MPI_Status status;
      int count = 0;
      check(MPI_Probe(from, tag, comm_, &status), "MPI_Probe");
      check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
      const std::size_t at = bytes.size();
      bytes.resize(at + static_cast<std::size_t>(count));
      check(MPI_Recv(bytes.data() + at, count, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
      if (count == 0) break;
    }
  }
  return all;
}

std::vector<std::byte> Ranks::all_gather(const std::vector<std::byte>& mine) const {
  if (size_ == 1) return mine;
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(size_)), places(counts);
  check(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  for (std::size_t r = 1; r < counts.size(); ++r) places[r] = places[r - 1] + counts[r - 1];
  std::vector<std::byte> all(static_cast<std::size_t>(places.back() + counts.back()));
  check(MPI_Allgatherv(mine.data(), count, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE, comm_),
        "MPI_Allgatherv");
  return all;
}

int local_rank() {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  check(MPI_Comm_rank(host, &rank), "MPI_Comm_rank");
  MPI_Comm_free(&host);
  return rank;
}

std::string host_name() {
  char name[256] = "this host";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace trainwire
