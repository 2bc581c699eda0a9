// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a runner that scores one column into a runner that chooses among all
// columns.

#include "runner.h"
#include "text.h"

#include <cstring>

namespace passpilot {

namespace {

class ScoreRunner final : public Runner {
public:
  ScoreRunner(std::shared_ptr<Runner> Scorer,
              const std::vector<TensorSpec> &Offered, TensorSpec Output,
              const Domain &D)
      : Runner({}, std::move(Output)), Scorer(std::move(Scorer)),
        Columns(static_cast<size_t>(D.Count)), Question(this->Scorer->inputs()),
        Questions(Question.bytes() * Columns / sizeof(uint64_t)),
        Legal(Columns), Scores(Columns) {
    for (const TensorSpec &S : this->Scorer->inputs())
      Inputs.push_back(*named(Offered, S.Name));
    Inputs.push_back(*named(Offered, D.Mask)); // the mask is the last input
    for (size_t I = 0; I < Question.specs().size(); ++I)
      Firsts.push_back(begin() + Question.offset(I));
    Warning = this->Scorer->warning();
  }

  bool evaluate(const void *const *In, void *Out) override {
    const auto *Mask = static_cast<const int64_t *>(In[Inputs.size() - 1]);
    size_t Count = 0;
    for (size_t Column = 0; Column < Columns; ++Column)
      if (Mask[Column])
        Legal[Count++] = Column;
    if (!Count) {
      Error = "mask: expected a column that may be chosen, got none";
      return false;
    }
    for (size_t I = 0; I < Firsts.size(); ++I)
      gather(I, static_cast<const char *>(In[I]), Count);
    if (!Scorer->evaluateBatch(Firsts.data(), Question.bytes(), Count,
                               Scores.data())) {
      Error = Scorer->error();
      return false;
    }
    size_t Best = 0;
    for (size_t Row = 1; Row < Count; ++Row)
      if (Scores[Row].Number > Scores[Best].Number)
        Best = Row;
    Advice A{static_cast<int64_t>(Legal[Best])};
    std::memcpy(Out, &A, sizeof A);
    return true;
  }

  void switchContext(std::string_view Name) override {
    Scorer->switchContext(Name);
  }

private:
  const std::shared_ptr<Runner> Scorer;
  const size_t Columns;
  TensorBlock Question; ///< the layout of one column's question
  std::vector<uint64_t> Questions;
  std::vector<const void *> Firsts; ///< the inputs of the first column
  std::vector<size_t> Legal;
  std::vector<Advice> Scores;

  char *begin() { return reinterpret_cast<char *>(Questions.data()); }

  /// Gathers input \p I for the first \p Count legal columns.
  void gather(size_t I, const char *From, size_t Count) {
    const size_t Bytes = Question.specs()[I].bytes();
    const size_t Step = Inputs[I].bytes() == Bytes ? 0 : Bytes;
    char *To = begin() + Question.offset(I);
    for (size_t Row = 0; Row < Count; ++Row, To += Question.bytes())
      std::memcpy(To, From + Step * Legal[Row], Bytes);
  }
};

} // namespace

std::unique_ptr<Runner> makeScoreRunner(std::shared_ptr<Runner> Scorer,
                                        const std::vector<TensorSpec> &Offered,
                                        TensorSpec Output, const Domain &D) {
  return std::make_unique<ScoreRunner>(std::move(Scorer), Offered,
                                       std::move(Output), D);
}

} // namespace passpilot
