// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "py_passes.h"

#include "core.h"
#include "gc.h"
#include "interpreter.h"
#include "ir.h"
#include "py_failure.h"

#include "../hosted/access.h"
#include "../llvm/after_user_pass.h"

namespace passpilot {

namespace {

PassLevel levelOf(const std::string &Name) {
  for (PassLevel L : {PassLevel::Module, PassLevel::CGSCC, PassLevel::Function,
                      PassLevel::Loop})
    if (Name == levelName(L))
      return L;
  throw nb::value_error(
      ("level: expected module, cgscc, function or loop, got " + Name).c_str());
}

PassAccess accessOf(HostedModule &H, const PassUnit &Unit) {
  if (Unit.Loop)
    return {H, *Unit.LoopResults, *Unit.Function};
  if (Unit.Level == PassLevel::Module)
    return PassAccess(H);
  return {H, functionsOf(Unit)};
}

/// The argument of run(): a Module, tuple of Functions, Function or Loop.
nb::object argumentOf(HostedModule &H, const PassUnit &Unit) {
  const Owner O = ownerOf(H);
  if (Unit.Loop)
    return loopOf(O, *Unit.Loop);
  if (Unit.Function)
    return valueOf(O, Unit.Function);
  if (Unit.Level == PassLevel::Module)
    return moduleOf(O);
  nb::list Functions;
  for (llvm::Function *F : functionsOf(Unit))
    Functions.append(valueOf(O, F));
  return nb::tuple(Functions);
}

/// Reads the result of run() into \p R, which holds the analyses that our own
/// records say are preserved: a pass cannot claim more.
void readAnswer(nb::handle Answer, PassResult &R) {
  if (llvm::PreservedAnalyses *PA;
      nb::try_cast<llvm::PreservedAnalyses *>(Answer, PA, false) && PA)
    R.Preserved.intersect(*PA);
  else if (Answer.is(Py_True))
    R.Preserved = llvm::PreservedAnalyses::none();
  else if (!Answer.is(Py_False))
    R.Failure = "expected True, False or PreservedAnalyses of run(), got " +
                (Answer.is_none() ? std::string("None")
                                  : nb::type_name(Answer.type()).c_str()) +
                "; return whether the IR has changed";
}

/// Calls \p Run on the unit. Exceptions must not cross LLVM's frames. GIL:
/// taken for the call.
PassResult runBody(PyPasses &Mine, const nb::object &Run,
                   const PassUnit &Unit) noexcept {
  PassResult R;
  if (interpreterEnds()) {
    R.Failure = "the interpreter ends";
    return R;
  }
  nb::gil_scoped_acquire GIL;
  try {
    HostedModule &H = Mine.moduleOf(Unit);
    PassAccess Access = accessOf(H, Unit);
    Access.Passes = &Mine.Passes;
    Access.Unit = &Unit;
    nb::object Answer = nb::steal(PyObject_CallFunctionObjArgs(
        Run.ptr(), argumentOf(H, Unit).ptr(), nullptr));
    if (!Answer.is_valid())
      throw nb::python_error();
    R.Preserved = Access.Preserved;
    readAnswer(Answer, R);
  } catch (nb::python_error &E) {
    Mine.Exception = nb::borrow(E.value());
    R.Failure = "Python raised";
  } catch (std::exception &E) {
    R.Failure = E.what();
  }
  return R;
}

} // namespace

HostedModule &PyPasses::moduleOf(const PassUnit &Unit) {
  if (!Own &&
      (!Compiled || Compiled->ended() || &Compiled->module() != Unit.Module)) {
    end();
    auto Lent = HostedModule::borrowed(*Unit.Module);
    Compiled = Lent.get();
    Borrowed = nb::cast(std::move(Lent));
  }
  return *Compiled;
}

void PyPasses::end() {
  if (Borrowed.is_valid())
    Compiled->end();
  Compiled = nullptr;
  Borrowed.reset();
  Exception.reset();
}

namespace {

void add(PyPasses &Mine, std::string Text, std::string Name,
         const std::string &Level, bool Required, nb::object Run) {
  // The closure must not own a reference: it is destroyed without the GIL.
  const nb::object &Kept = Mine.Runs.emplace_back(std::move(Run));
  Mine.Passes.add({std::move(Text), std::move(Name), levelOf(Level), Required,
                   [&Mine, &Kept](const PassUnit &Unit) {
                     return runBody(Mine, Kept, Unit);
                   }});
}

} // namespace

void bindPasses(nb::module_ &M) {
  nb::class_<llvm::PreservedAnalyses>(M, "PreservedAnalyses",
                                      "The LLVM analyses that are still valid.")
      .def_static(
          "all", &llvm::PreservedAnalyses::all,
          "All analyses: the pass has changed nothing that they look at.")
      .def_static("none", &llvm::PreservedAnalyses::none,
                  "No analysis; run() may return True instead.")
      .def_static(
          "cfg",
          [] {
            auto PA = llvm::PreservedAnalyses::none();
            PA.preserveSet<llvm::CFGAnalyses>();
            return PA;
          },
          "Control-flow analyses only, such as the dominator tree: no block "
          "and no branch has changed.");

  nb::class_<PyPasses>(M, "Passes", nb::type_slots(GCSlots<PyPasses>),
                       "The passes in Python of one compilation.")
      .def(nb::init<>())
      .def_static(
          "of",
          [](size_t Address) {
            return std::make_unique<PyPasses>(
                *reinterpret_cast<UserPasses *>(Address));
          },
          nb::arg("address"), "The passes of another compiler in this process.")
      .def("end", &PyPasses::end, "Ends the passes of the other compiler.")
      .def("add", &add, nb::arg("text"), nb::arg("name"), nb::arg("level"),
           nb::arg("required"), nb::arg("run"),
           "Adds the pass that the pipeline element `text` means.")
      .def_prop_ro(
          "failure",
          [](PyPasses &Mine) {
            return failureOf(Mine.Passes.failure(), Mine.Exception);
          },
          "The failure that ended the compilation.")
      .def_prop_ro(
          "idle", [](PyPasses &Mine) { return Mine.Passes.idle(); },
          "A warning of passes that ran on nothing because of optnone, or an "
          "empty text.");

  M.def("extension_points", [] {
    std::vector<std::pair<std::string, std::string>> Points;
    for (const auto &[Name, Level] : extensionPoints())
      Points.emplace_back(Name, levelName(Level));
    return Points;
  });
}

} // namespace passpilot
