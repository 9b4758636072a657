// Starting the ranks: this very program again, under mpirun.
#include "backend/common/launch.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "backend/common/board.h"

namespace trainwire::backend {
namespace {

// Set by Open MPI's mpirun, by PMI launchers (MPICH's mpiexec, srun --mpi=pmi2) and by PMIx ones (srun --mpi=pmix).
// SLURM_PROCID says nothing: a batch script has it too.
constexpr const char* rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

const char* rank_text() {
  for (const char* name : rank_variables)
    if (const char* text = std::getenv(name)) return text;
  return nullptr;
}

std::vector<std::string> mpirun_command(int world_size, const std::vector<std::string>& arguments) {
  // Ranks of one host share memory, and leave the core to one another while they wait.
  std::vector<std::string> command{"mpirun",
                                   "-n",
                                   std::to_string(world_size),
                                   "--allow-run-as-root",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "mpi_yield_when_idle",
                                   "1",
                                   "--mca",
                                   "pml",
                                   "ob1",
                                   "--mca",
                                   "btl",
                                   "self,vader"};
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0) throw std::runtime_error("cannot start the ranks: /proc/self/exe cannot be read");
  command.emplace_back(self, static_cast<std::size_t>(length));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

[[noreturn]] void become(const std::vector<std::string>& command, const std::string& board) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // mpirun ends, and its ranks with it, when the program that asked for it is gone
  if (!board.empty()) setenv("TRAINWIRE_BOARD", board.c_str(), 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  std::vector<char*> argv;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  constexpr char text[] = "mpirun was not found. Install Open MPI (Debian: openmpi-bin).\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

}  // namespace

int world_rank() {
  const char* text = rank_text();
  return text != nullptr ? std::atoi(text) : 0;
}

bool is_rank() { return rank_text() != nullptr; }

int launch_ranks(int world_size, const std::vector<std::string>& arguments) {
  if (world_size == 1 || rank_text() != nullptr) return -1;
  const std::vector<std::string> command = mpirun_command(world_size, arguments);
  const BoardFolder board;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start mpirun: fork failed");
  if (child == 0) become(command, board.path());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  // Whatever number mpirun makes of a dead rank: the run failed. 2 is a rank that found the input bad.
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2)) return WEXITSTATUS(status);
  // Beyond 128: a signal ended a rank, which could say nothing itself.
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 128) std::fputs(board.last_seen(world_size).c_str(), stderr);
  return 1;
}

}  // namespace trainwire::backend
