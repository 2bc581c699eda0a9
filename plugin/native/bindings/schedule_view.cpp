// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "define.h"
#include "view.h"

#include "../llvm/live_range.h"
#include "../llvm/scheduling.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/ScheduleDAG.h"

namespace passpilot {

namespace {

/// A view of a question of the machine scheduler.
struct ScheduleSite : View {
  using View::View;
  ScheduleQuestion &asked() const {
    return static_cast<ScheduleQuestion &>(question("scheduling"));
  }
};

std::vector<nb::str> instructionsOf(const ScheduleSite &S) {
  std::vector<nb::str> V;
  V.reserve(S.asked().Columns.size());
  for (const llvm::SUnit *Unit : S.asked().Columns)
    V.push_back(text(llvm::StringRef(printed(*Unit->getInstr())).trim()));
  return V;
}

std::vector<std::string> opcodesOf(const ScheduleSite &S) {
  std::vector<std::string> V;
  V.reserve(S.asked().Columns.size());
  for (size_t I = 0; I < S.asked().Columns.size(); ++I)
    V.push_back(S.asked().opcode(I));
  return V;
}

} // namespace

void bindSchedule(nb::module_ &M) {
  nb::class_<ScheduleSite> C(M, "ScheduleSite",
                             nb::type_slots(GCSlots<ScheduleSite>));
  Properties P(C);
  P("function", "The name of the function.",
    [](ScheduleSite &S) { return S.asked().MF.getName().str(); });
  P("block", "The basic block, such as %bb.2.",
    [](ScheduleSite &S) { return S.asked().block(); });
  P("instructions", "The machine instructions of the columns, as text.",
    &instructionsOf);
  P("opcodes", "LLVM's names of the opcodes of the columns.", &opcodesOf);
  P("from_top",
    "Whether the instruction comes below those that are placed at the top of "
    "the region, else above those at its bottom.",
    [](ScheduleSite &S) { return S.asked().FromTop; });
  P("ordinal", [](ScheduleSite &S) { return S.Ordinal; });
  C.def("__str__", [](ScheduleSite &S) {
    return text("block " + S.asked().block() + " of " +
                S.asked().MF.getName().str());
  });
  siteMakers()["schedule"] = makeSite<ScheduleSite>;
}

} // namespace passpilot
