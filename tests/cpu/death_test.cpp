// A rank that throws or dies ends the whole run soon, says which rank and operation, and leaves no process behind.
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/test.h"

namespace {

struct Outcome {
  std::string output;
  int status = -1;
  double seconds = 0;
};

Outcome run(const std::string& environment, const std::string& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const std::string command = environment + " " TRAINWIRE_CPU_TRAIN " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  // Reading ends when the last process that could write has ended: nothing stays behind.
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) outcome.output += static_cast<char>(c);
  outcome.status = WEXITSTATUS(pclose(pipe));
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

constexpr double soon_s = 10;

}  // namespace

TEST_CASE("a program that is not under mpirun starts its ranks itself and returns their status") {
  const Outcome alone = run("", "1 1 1"), four = run("", "2 2 1");
  CHECK(alone.status == 0);
  CHECK(four.status == 0);
  CAPTURE(alone.output, four.output);
  REQUIRE(alone.output.rfind("loss ", 0) == 0);
  REQUIRE(four.output.rfind("loss ", 0) == 0);
  CHECK(relative_error(std::stod(alone.output.substr(5)), std::stod(four.output.substr(5))) < 1e-4);
}

TEST_CASE("a rank that throws ends the run and is named with its operation") {
  const Outcome outcome = run("TRAINWIRE_FAIL=1:20", "2 1 2");
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.seconds < soon_s);
  CHECK(outcome.output.find("rank 1: ") != std::string::npos);
  CHECK(outcome.output.find(" forward mb ") != std::string::npos);
  CHECK(outcome.output.find("failed on purpose") != std::string::npos);
}

TEST_CASE("a rank that throws alone is named too") {
  const Outcome outcome = run("TRAINWIRE_FAIL=0:5", "1 1 1");
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("rank 0: ") != std::string::npos);
}

TEST_CASE("a rank that is killed ends the run, which says in which operation it was") {
  const Outcome outcome = run("TRAINWIRE_FAIL=1:20:kill", "2 2 1");
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.seconds < soon_s);
  CHECK(outcome.output.find("rank 1 was in blocks.") != std::string::npos);
}

TEST_CASE("ranks that wait for one that does not come say so and end") {
  const Outcome outcome = run("TRAINWIRE_TIMEOUT_S=2 TRAINWIRE_FAIL=1:20:stop", "2 1 1");
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.find("rank 0: no message came or went for 2 s") != std::string::npos);
  CHECK(outcome.output.find("waits for round 1 of 2, rank 1.") != std::string::npos);
}
