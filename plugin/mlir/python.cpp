// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter's library is loaded when it is needed and called by names
// that all supported versions have, so that native runners need none.

#include "python.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>

namespace fs = std::filesystem;

namespace passpilot {

namespace {

const std::string Version = PASSPILOT_PYTHON_VERSION; // such as "3.11"

extern "C" void passpilotTell(Messages *Teller, const char *Kind,
                              const char *Text, size_t Size, const char *File,
                              int Line, int Column) {
  Teller->push_back({Kind, {Text, Size}, File, Line, Column});
}

/// The program of the interpreter whose packages this plugin is among: it tells
/// the library where these are.
std::string program() {
  for (fs::path Folder = pluginFolder(); Folder.has_relative_path();
       Folder = Folder.parent_path())
    if (fs::path Program = Folder / "bin" / ("python" + Version);
        fs::exists(Program))
      return Program.string();
  return "";
}

/// The library of the interpreter at \p Program, which may be a link in a
/// virtual environment.
void *openLibrary(const std::string &Program) {
  const std::string Name = "libpython" + Version + ".so.1.0";
  std::error_code Ignored;
  const fs::path Prefix =
      fs::canonical(Program, Ignored).parent_path().parent_path();
  for (const std::string &Place :
       {(Prefix / "lib" / Name).string(), Name,
        std::string(PASSPILOT_PYTHON_LIBDIR "/") + Name})
    // Global: extension modules expect to find it in the process.
    if (void *Library = dlopen(Place.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return Library;
  return nullptr;
}

template <typename Function> Function *find(void *Library, const char *Name) {
  return reinterpret_cast<Function *>(dlsym(Library, Name));
}

/// The text of the program that connects Python to \p Calls; what goes wrong is
/// told to \p Told.
std::string connection(PythonCalls &Calls, Messages &Told) {
  char Text[1024];
  std::snprintf(
      Text, sizeof Text,
      "import ctypes\n"
      "tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, "
      "ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int, "
      "ctypes.c_int)(%zu)\n"
      "try:\n"
      "    from passpilot.passes import mlir_loaded\n"
      "    mlir_loaded.connect(%zu, tell)\n"
      "except BaseException as error:\n"
      "    text = f'{type(error).__name__}: {error}'.encode()\n"
      "    tell(%zu, b'error', text, len(text), b'', 0, 0)\n",
      reinterpret_cast<size_t>(&passpilotTell),
      reinterpret_cast<size_t>(&Calls), reinterpret_cast<size_t>(&Told));
  return Text;
}

bool start(PythonCalls &Calls, Messages &Told) {
  const std::string Program = program();
  void *Library = Program.empty() ? nullptr : openLibrary(Program);
  if (!Library) {
    Told.push_back({"error", "passpilot: expected libpython" + Version +
                                 ".so.1.0 for runners and passes in Python, "
                                 "got none; sudo apt-get install libpython" +
                                 Version});
    return false;
  }
  auto *Decode =
      find<wchar_t *(const char *, size_t *)>(Library, "Py_DecodeLocale");
  auto *SetProgram = find<void(const wchar_t *)>(Library, "Py_SetProgramName");
  auto *Initialize = find<void(int)>(Library, "Py_InitializeEx");
  auto *Run = find<int(const char *)>(Library, "PyRun_SimpleString");
  auto *Release = find<void *()>(Library, "PyEval_SaveThread");
  SetProgram(Decode(Program.c_str(), nullptr));
  Initialize(/*InstallSignalHandlers=*/0);
  Run(connection(Calls, Told).c_str());
  Release(); // the functions take the GIL for themselves
  return Told.empty();
}

bool Started = false;

} // namespace

const PythonCalls *python(Messages &Told) {
  static std::mutex Mutex;
  static PythonCalls Calls{};
  static Messages Failure; // said to everybody who needs Python
  std::lock_guard<std::mutex> Lock(Mutex);
  if (!Started && Failure.empty()) {
    Started = start(Calls, Failure);
    if (Started)
      std::atexit([] { Calls.End(nullptr); });
  }
  Told.insert(Told.end(), Failure.begin(), Failure.end());
  return Started ? &Calls : nullptr;
}

bool pythonRuns() { return Started; }

std::string pluginFolder() {
  Dl_info Info;
  dladdr(reinterpret_cast<void *>(&pluginFolder), &Info);
  std::error_code Ignored;
  return fs::canonical(Info.dli_fname, Ignored).parent_path().string();
}

} // namespace passpilot
