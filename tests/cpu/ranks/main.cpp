// Tests that run on several ranks at once: mpirun -n 8 test_cpu_ranks. Rank 0 reports; the others only take part.
#include <mpi.h>

#if TRAINWIRE_CATCH2 == 2
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#else
#include <catch2/catch_session.hpp>
#endif

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<const char*> arguments(argv, argv + argc);
  if (rank != 0) arguments.insert(arguments.end(), {"--out", "/dev/null"});
  const int status = Catch::Session().run(static_cast<int>(arguments.size()), arguments.data());
  MPI_Finalize();
  return status;
}
