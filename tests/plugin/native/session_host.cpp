// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   session_host threads|failure|evict|ra-action
//
// A session without a compiler. threads: other threads look for the decision in
// progress while one asks. failure: what is told of the failure throws. Else:
// the point's name; asks once for each of two columns and prints what is
// counted as accepted.

#include "runtime/decision_log.cpp"
#include "runtime/domain.cpp"
#include "runtime/session.cpp"
#include "runtime/tensor_spec.cpp"

#include <iostream>

using namespace passpilot;

const void *const *Runner::offset(const void *const *, size_t) { return {}; }
bool Runner::evaluateBatch(const void *const *, size_t, size_t, Advice *) {
  return false;
}

namespace {

struct Alternating final : Runner {
  Alternating() : Runner({}, {"advice", ScalarType::Int64, {1}}) {}
  bool evaluate(const void *const *, void *Out) override {
    static_cast<Advice *>(Out)->Integer = Answers++ % 2;
    return !Fails;
  }
  int Answers = 0;
  bool Fails = false;
};

struct Decision final : Question {
  Advice defaultAdvice() override { return {0}; }
  DecisionPlace place() override { return {}; }
};

} // namespace

int main(int, char **Words) {
  const std::string Mode = Words[1];
  Point P{Mode,
          {{"mask", ScalarType::Int64, {1, 2}}},
          {"default", ScalarType::Int64, {1}},
          {},
          {}};
  P.Domain = {DomainKind::Choice, 2, "mask"};
  auto R = std::make_shared<Alternating>();
  Session S(P, R, {}, /*DefaultOnError=*/false, /*Logged=*/false);
  S.mask()[0] = S.mask()[1] = 1;
  Decision D;
  if (Mode == "failure") {
    R->Fails = true;
    S.OnFailure = [] { throw std::runtime_error("no room"); };
    const bool Answered = S.ask(D).has_value();
    std::cout << Answered << S.failure().Text << "\n";
    S.OnFailure = [] { throw 1; };
    S.restart();
    S.ask(D);
    std::cout << S.failure().Text << "\n";
  } else if (Mode == "threads") {
    std::atomic<bool> Ends = false;
    unsigned Seen = 0;
    std::thread Other([&] {
      while (!Ends)
        Seen += S.current() != nullptr;
    });
    for (int I = 0; I < 20000; ++I)
      S.ask(D);
    Ends = true;
    Other.join();
    std::cout << Seen << "\n";
  } else {
    S.ask(D);
    S.ask(D);
    std::cout << S.Counts.Accepted << "\n";
  }
}
