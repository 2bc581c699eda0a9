// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of onnxruntime's C API that we call. The wheel ships the
// library without its header. The API is one table of function pointers
// whose order never changes (new ones are appended), so we name each by its
// index.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace passpilot::onnx {

struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct MemoryInfo;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct Allocator;
struct ModelMetadata;

/// The version of the table that has all of these; every release since 1.5
/// offers it.
constexpr uint32_t ApiVersion = 5;

class Api {
public:
  /// Opens the library once per process, with its telemetry off; null with
  /// \p Error on failure.
  static const Api *load(const std::string &Library, std::string &Error);

  template <size_t Place, typename R = Status *, typename... A>
  R call(A... Args) const {
    return reinterpret_cast<R (*)(A...)>(Table[Place])(Args...);
  }

  enum Place : size_t {
    GetErrorMessage = 2,
    CreateEnv = 3,
    DisableTelemetryEvents = 6,
    CreateSessionFromArray = 8,
    Run = 9,
    CreateSessionOptions = 10,
    SetGraphOptimizationLevel = 23,
    SetIntraOpNumThreads = 24,
    SetInterOpNumThreads = 25,
    SessionGetInputCount = 30,
    SessionGetOutputCount = 31,
    SessionGetInputTypeInfo = 33,
    SessionGetOutputTypeInfo = 34,
    SessionGetInputName = 36,
    SessionGetOutputName = 37,
    CreateTensorWithDataAsOrtValue = 49,
    GetTensorMutableData = 51,
    CastTypeInfoToTensorInfo = 55,
    GetTensorElementType = 60,
    GetDimensionsCount = 61,
    GetDimensions = 62,
    GetTensorShapeElementCount = 64,
    GetTensorTypeAndShape = 65,
    CreateCpuMemoryInfo = 69,
    AllocatorFree = 76,
    GetAllocatorWithDefaultOptions = 78,
    ReleaseStatus = 93,
    ReleaseMemoryInfo = 94,
    ReleaseSession = 95,
    ReleaseValue = 96,
    ReleaseTypeInfo = 98,
    ReleaseTensorTypeAndShapeInfo = 99,
    ReleaseSessionOptions = 100,
    SessionGetModelMetadata = 111,
    ModelMetadataLookupCustomMetadataMap = 116,
    ReleaseModelMetadata = 118,
    AddSessionConfigEntry = 130,
  };

  /// True if \p S is success; otherwise moves its text into \p Error.
  bool ok(Status *S, std::string &Error) const;
  /// The process's only environment, as onnxruntime requires.
  Env *env() const { return TheEnv; }

private:
  void *const *Table = nullptr;
  Env *TheEnv = nullptr;
};

/// ONNX's numbers for element types.
enum ElementType : int {
  Float = 1,
  UInt8,
  Int8,
  UInt16,
  Int16,
  Int32,
  Int64,
  String,
  Bool,
  Float16,
  Double,
  UInt32,
  UInt64
};

} // namespace passpilot::onnx
