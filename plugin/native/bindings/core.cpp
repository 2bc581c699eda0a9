// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace passpilot {

static std::atomic<bool> Ending{false};
static std::atomic<int> Runs{0};

ReleasedGIL::ReleasedGIL() {
  ++Runs;
  if (!interpreterEnds())
    Released.emplace();
}

ReleasedGIL::~ReleasedGIL() {
  Released.reset();
  --Runs; // not before the GIL is back
}

bool interpreterEnds() {
#if PY_VERSION_HEX >= 0x030d0000
  return Ending || Py_IsFinalizing();
#else
  return Ending || _Py_IsFinalizing();
#endif
}

/// Called at exit: ends what daemon threads compile, for a thread that asked
/// for the GIL of an ended interpreter would be torn out of LLVM.
static void endRuns() {
  Ending = true;
  nb::object Threads = nb::module_::import_("threading").attr("active_count")();
  if (nb::cast<int>(Threads) >
      1) // what daemon threads hold is not ours to free
    nb::set_leak_warnings(false);
  nb::gil_scoped_release NoGIL;
  for (int Wait = 0; Runs > 0 && Wait < 1000; ++Wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

nb::str text(const std::string &S) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
      S.data(), static_cast<Py_ssize_t>(S.size()), "replace"));
}

/// Sets Python's error to \p Name of passpilot.plugin.errors.
static void setError(const char *Name, const std::string &Text) {
  nb::object Type = nb::module_::import_("passpilot.plugin.errors").attr(Name);
  PyErr_SetObject(Type.ptr(), text(Text).ptr());
}

void raiseError(const char *Name, const std::string &Text) {
  setError(Name, Text);
  throw nb::python_error();
}

TensorSpec specOf(const SpecRow &Row) {
  const auto &[Name, Type, Shape] = Row;
  for (int T = 1; T <= static_cast<int>(ScalarType::UInt64); ++T)
    if (Type == numpyName(static_cast<ScalarType>(T)))
      return {Name, static_cast<ScalarType>(T), Shape};
  throw nb::value_error(
      ("tensor " + Name + ": expected a scalar type, got " + Type).c_str());
}

SpecRow rowOf(const TensorSpec &S) {
  return {S.Name, numpyName(S.Type), S.Shape};
}

std::vector<SpecRow> rowsOf(const std::vector<TensorSpec> &Specs) {
  std::vector<SpecRow> Rows;
  for (const TensorSpec &S : Specs)
    Rows.push_back(rowOf(S));
  return Rows;
}

Domain domainOf(const DomainRow &Row) {
  const auto &[Kind, Count, Mask, Low, High] = Row;
  const std::pair<const char *, DomainKind> Kinds[] = {
      {"flag", DomainKind::Flag},
      {"choice", DomainKind::Choice},
      {"number", DomainKind::Number}};
  for (const auto &[Name, K] : Kinds)
    if (Kind == Name)
      return {K, Count, Mask, Low, High};
  throw nb::value_error(
      ("domain: expected flag, choice or number, got " + Kind).c_str());
}

Point pointOf(const PointRow &Row) {
  const auto &[Name, Features, Default, Decision, D] = Row;
  std::vector<TensorSpec> Specs;
  for (const SpecRow &Each : Features)
    Specs.push_back(specOf(Each));
  return {Name, std::move(Specs), specOf(Default), specOf(Decision),
          domainOf(D)};
}

nb::object adviceOf(const TensorSpec &Spec, Advice A) {
  return Spec.Type == ScalarType::Double ? nb::object(nb::float_(A.Number))
                                         : nb::object(nb::int_(A.Integer));
}

Question &View::question(const char *What) const {
  if (A->Session->current() != Asked || A->Session->ordinal() != Ordinal)
    raiseError("StaleViewError",
               std::string(What) + " view of decision " +
                   std::to_string(Ordinal) +
                   ": expected to be read during that decision, by the "
                   "thread that is asked, got another read; copy what "
                   "you need");
  return *Asked;
}

static nb::dlpack::dtype dtypeOf(ScalarType T) {
  switch (T) {
  case ScalarType::Float:
    return nb::dtype<float>();
  case ScalarType::Double:
    return nb::dtype<double>();
  case ScalarType::Int8:
    return nb::dtype<int8_t>();
  case ScalarType::UInt8:
    return nb::dtype<uint8_t>();
  case ScalarType::Int16:
    return nb::dtype<int16_t>();
  case ScalarType::UInt16:
    return nb::dtype<uint16_t>();
  case ScalarType::Int32:
    return nb::dtype<int32_t>();
  case ScalarType::UInt32:
    return nb::dtype<uint32_t>();
  case ScalarType::Int64:
    return nb::dtype<int64_t>();
  case ScalarType::UInt64:
    return nb::dtype<uint64_t>();
  }
  return nb::dtype<int64_t>();
}

static nb::capsule keep(const std::shared_ptr<TensorBlock> &Block) {
  return nb::capsule(new std::shared_ptr<TensorBlock>(Block),
                     [](void *P) noexcept {
                       delete static_cast<std::shared_ptr<TensorBlock> *>(P);
                     });
}

nb::object viewOf(const std::shared_ptr<TensorBlock> &Block, size_t I,
                  bool Writable) {
  const TensorSpec &S = Block->specs()[I];
  std::vector<size_t> Shape(S.Shape.begin(), S.Shape.end());
  void *Data = Block->data(I);
  if (Writable)
    return nb::cast(nb::ndarray<nb::numpy>(Data, Shape.size(), Shape.data(),
                                           keep(Block), nullptr,
                                           dtypeOf(S.Type)));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(
      Data, Shape.size(), Shape.data(), keep(Block), nullptr, dtypeOf(S.Type)));
}

nb::object frameOf(const std::shared_ptr<TensorBlock> &Block, size_t Count) {
  const size_t Bytes =
      Count < Block->specs().size() ? Block->offset(Count) : Block->bytes();
  return nb::cast(nb::ndarray<nb::numpy, const uint8_t, nb::ndim<1>>(
      Block->begin(), {Bytes}, keep(Block)));
}

} // namespace passpilot

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
  bindPasses(M);
  bindModule(M);
  bindRunner(M);
  bindCallSite(M);
  bindLiveRange(M);
  bindMlirContents(M);
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
  bindBuilder(M);
  bindIR2Vec(M);
}
