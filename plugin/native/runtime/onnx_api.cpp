// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "onnx_api.h"
#include "environment.h"

#include <dlfcn.h>
#include <mutex>

namespace passpilot::onnx {

namespace {
struct ApiBase {
  void *const *(*GetApi)(uint32_t Version);
  const char *(*GetVersionString)();
};
} // namespace

const Api *Api::load(const std::string &Library, std::string &Error) {
  static std::mutex Mutex;
  static Api *Loaded = nullptr; // never freed, like the library
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Loaded)
    return Loaded;
  // Read when the environment is made. Without it, onnxruntime writes an id of
  // the device and events to send into the user's cache folder.
  addVariable("ORT_DISABLE_TELEMETRY=1");
  void *Handle = dlopen(Library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!Handle) {
    Error = dlerror();
    return nullptr;
  }
  auto GetBase =
      reinterpret_cast<const ApiBase *(*)()>(dlsym(Handle, "OrtGetApiBase"));
  if (!GetBase) {
    Error = Library + ": expected the symbol OrtGetApiBase, got none";
    return nullptr;
  }
  auto New = new Api;
  New->Table = GetBase()->GetApi(ApiVersion);
  const int Fatal = 4; // the log level; errors are returned as statuses
  if (!New->Table ||
      !New->ok(New->call<CreateEnv>(Fatal, "passpilot", &New->TheEnv), Error) ||
      !New->ok(New->call<DisableTelemetryEvents>(
                   static_cast<const Env *>(New->TheEnv)),
               Error)) {
    delete New;
    return nullptr;
  }
  return Loaded = New;
}

bool Api::ok(Status *S, std::string &Error) const {
  if (!S)
    return true;
  Error = call<GetErrorMessage, const char *>(S);
  call<ReleaseStatus, void>(S);
  return false;
}

} // namespace passpilot::onnx
