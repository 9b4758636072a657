// Laws of the text form of quantities.
#include "sim/units/units.h"

#include <cmath>
#include <random>

#include "tests/test.h"

using namespace trainwire;

TEST_CASE("decimal prefixes are powers of 1000, binary ones of 1024, and a bit is an eighth of a byte") {
  CHECK(parse<Bytes>("1 GB")->value == Approx(1e9));
  CHECK(parse<Bytes>("1 GiB")->value == Approx(1024.0 * 1024 * 1024));
  CHECK(parse<Bandwidth>("450 GB/s")->value == Approx(450e9));
  CHECK(parse<Bandwidth>("400 Gb/s")->value == Approx(400e9 / 8));
  CHECK(parse<Bandwidth>("400 Gbps")->value == Approx(400e9 / 8));
  CHECK(parse<Seconds>("5 us")->value == Approx(5e-6));
  CHECK(parse<Seconds>("5 \xC2\xB5s")->value == Approx(5e-6));
  CHECK(parse<FlopRate>("989.4 TFLOP/s")->value == Approx(989.4e12));
  CHECK(parse<FlopRate>("312 TFLOPS")->value == Approx(312e12));
  CHECK(parse<Flops>("2 PFLOP")->value == Approx(2e15));
}

TEST_CASE("white space around the number and the unit does not matter") {
  CHECK(parse<Bytes>(" 25MiB ")->value == Approx(25.0 * 1024 * 1024));
  CHECK(parse<Seconds>("1.5e-3   s")->value == Approx(1.5e-3));
}

TEST_CASE("what is not a finite number with a unit of the dimension is refused") {
  const std::string bad[] = {"",      " ",     "GB",      "12",       "x GB",   "1 gb",   "1 GBs", "1 GB/s", "1 s",
                             "inf B", "nan B", "1e400 B", "1e308 GB", "1,5 GB", "0x10 B", "1 G B", "--1 B"};
  for (const std::string& text : bad) {
    CAPTURE(text);
    CHECK_FALSE(parse<Bytes>(text).has_value());
  }
  CHECK_FALSE(parse<Bandwidth>("450 GB").has_value());
  CHECK_FALSE(parse<Seconds>("5 GB").has_value());
  CHECK_FALSE(parse<FlopRate>("5 TFLOP").has_value());
}

TEST_CASE("a bare zero needs no unit") { CHECK(parse<Seconds>("0")->value == 0); }

TEST_CASE("a signed quantity keeps its sign, so that the reader can refuse it") {
  CHECK(parse<Bytes>("-3 kB")->value == Approx(-3000.0));
}

template <class Q>
void check_round_trip(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(-8, 17);
  for (int i = 0; i < 500; ++i) {
    const Q quantity(std::pow(10.0, exponent(random)));
    const std::string text = to_text(quantity);
    CAPTURE(quantity.value, text);
    const auto back = parse<Q>(text);
    REQUIRE(back.has_value());
    // Three significant digits: at most half a unit of the third one; below the smallest unit two decimals remain.
    const double smallest = std::is_same_v<Q, Seconds> ? 1e-9 : 1.0;
    CHECK(std::abs(back->value - quantity.value) <= 0.00501 * quantity.value + 0.00501 * smallest);
  }
}

TEST_CASE("what to_text writes, parse reads back to three digits") {
  const unsigned seed = 20240601;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  check_round_trip<Bytes>(random);
  check_round_trip<Seconds>(random);
  check_round_trip<Flops>(random);
  check_round_trip<Bandwidth>(random);
  check_round_trip<FlopRate>(random);
}

TEST_CASE("the shown unit is the largest that leaves a number of at least one") {
  CHECK(to_text(Bytes(1.5 * 1024 * 1024 * 1024)) == "1.50 GiB");
  CHECK(to_text(Bytes(512)) == "512 B");
  CHECK(to_text(Bytes(0)) == "0 B");
  CHECK(to_text(Seconds(0)) == "0 s");
  CHECK(to_text(Seconds(12.3e-3)) == "12.3 ms");
  CHECK(to_text(Seconds(999.96e-6)) == "1.00 ms");
  CHECK(to_text(Bandwidth(450e9)) == "450 GB/s");
  CHECK(to_text(FlopRate(989.4e12)) == "989 TFLOP/s");
  CHECK(to_text(Seconds(-2e-3)) == "-2.00 ms");
}

TEST_CASE("the example of each dimension is a text of that dimension") {
  CHECK(parse<Bytes>(unit_example<Bytes>()));
  CHECK(parse<Seconds>(unit_example<Seconds>()));
  CHECK(parse<Flops>(unit_example<Flops>()));
  CHECK(parse<Bandwidth>(unit_example<Bandwidth>()));
  CHECK(parse<FlopRate>(unit_example<FlopRate>()));
}

TEST_CASE("a quotient of quantities has the quotient's dimension") {
  CHECK((Bytes(1e9) / Bandwidth(4e9)).value == Approx(0.25));
  CHECK((Flops(1e12) / FlopRate(2e12)).value == Approx(0.5));
  CHECK(Bytes(6) / Bytes(3) == Approx(2.0));
}
