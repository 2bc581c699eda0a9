// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"

#include "../hosted/errors.h"
#include "../hosted/setup.h"
#include "interpreter.h"
#include "python_error.h"

NB_MODULE(_core, M) {
  using namespace passpilot;
  M.doc() = "The native core: LLVM hosted in this process. Use it through "
            "passpilot's modules.";
  initializeLLVM();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&endRuns));
  nb::register_exception_translator([](const std::exception_ptr &P, void *) {
    try {
      std::rethrow_exception(P);
    } catch (const InputError &E) {
      setError("InputError", E.what());
    } catch (const IRError &E) {
      setError("IRError", E.what());
    } catch (const CompilationError &E) {
      setError("CompilationError", E.what());
    }
  });
  bindFailure(M);
  bindPlace(M);
  bindPoint(M);
  bindPasses(M);
  bindCompileOptions(M);
  bindModule(M);
  bindLLVM(M);
  bindRunner(M);
  bindPolicy(M);
  bindCallSite(M);
  bindLiveRange(M);
  bindSchedule(M);
  bindNativeFeature(M);
  bindAdvisor(M);
  bindType(M);
  bindMetadata(M);
  bindValue(M);
  bindGlobal(M);
  bindFunction(M);
  bindBlock(M);
  bindInstruction(M);
  bindCall(M);
  bindLoop(M);
  bindLoopKnowledge(M);
  bindBuilder(M);
  bindIR2Vec(M);
  bindObjectFile(M);
}
