// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the interpreter's library only when it is needed, and finds its
// functions by names that all supported versions have.

#include <Python.h> // must come first; we use its types, not its functions

#include "python.h"
#include "runtime/environment.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace fs = std::filesystem;

namespace passpilot {

namespace {

extern "C" void passpilotTell(Messages *Teller, const char *Kind,
                              const char *Text, size_t Size, const char *File,
                              int Line, int Column) {
  Teller->push_back({Kind, {Text, Size}, File, Line, Column});
}

/// A Python installation.
struct Installation {
  std::string Version; ///< such as "3.11"
  fs::path Program;    ///< from its path, the library finds the packages
};

/// The first of the files that exists; empty if none does.
fs::path firstFile(std::initializer_list<fs::path> Files) {
  std::error_code Ignored;
  for (const fs::path &File : Files)
    if (fs::is_regular_file(File, Ignored))
      return File;
  return {};
}

/// The Python that this library is installed for, as in
/// lib/python3.11/site-packages; in a build folder, the Python of the build.
/// With `pip install --user` there is no program beside the packages.
Installation installation() {
  const fs::path Built = fs::path(PASSPILOT_PYTHON_LIBDIR).parent_path();
  for (fs::path Folder = pluginFolder(); Folder.has_relative_path();
       Folder = Folder.parent_path())
    if (const std::string Name = Folder.filename().string();
        Name.rfind("python3.", 0) == 0) {
      const fs::path Prefix = Folder.parent_path().parent_path();
      return {
          Name.substr(sizeof "python" - 1),
          firstFile({Prefix / "bin" / Name, fs::path("/usr/bin") / Name,
                     fs::path("/usr/local/bin") / Name, Built / "bin" / Name})};
    }
  return {PASSPILOT_PYTHON_VERSION,
          Built / "bin" / "python" PASSPILOT_PYTHON_VERSION};
}

/// Opens an installation's library; its program may be a link in a virtual
/// environment.
void *openLibrary(const Installation &Python) {
  const std::string Name = "libpython" + Python.Version + ".so.1.0";
  std::error_code Ignored;
  const fs::path Prefix =
      fs::canonical(Python.Program, Ignored).parent_path().parent_path();
  for (const std::string &Place :
       {(Prefix / "lib" / Name).string(), Name,
        std::string(PASSPILOT_PYTHON_LIBDIR "/") + Name})
    // RTLD_GLOBAL: extension modules expect its symbols in the process.
    if (void *Library = dlopen(Place.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return Library;
  return nullptr;
}

/// The Python program that connects the module to our calls; it reports errors
/// to \p Report.
std::string connection(Messages &Report) {
  char Text[1024];
  std::snprintf(
      Text, sizeof Text,
      "import ctypes, importlib, sys\n"
      "tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, "
      "ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int, "
      "ctypes.c_int)(%zu)\n"
      "try:\n"
      "    importlib.import_module('%s').connect(%zu, tell)\n"
      "except BaseException as error:\n"
      "    text = f'passpilot: expected the packages of {sys.executable}, got "
      "{type(error).__name__}: {error}; install passpilot there'.encode()\n"
      "    tell(%zu, b'error', text, len(text), b'', 0, 0)\n",
      reinterpret_cast<size_t>(&passpilotTell), LibraryModule.Name,
      reinterpret_cast<size_t>(LibraryModule.Calls),
      reinterpret_cast<size_t>(&Report));
  return Text;
}

/// Finds the functions of the interpreter's library by name.
class Interpreter {
public:
  explicit Interpreter(void *Library) : Library(Library) {}

  bool runs() const {
    auto *Runs = find<int()>("Py_IsInitialized");
    return Runs && Runs();
  }
  /// Starts it; returns why it does not start, or nothing.
  std::string start(const std::string &Program) const {
    // numpy's library reads these; numpy itself would set the second.
    for (const char *Variable :
         {"OPENBLAS_NUM_THREADS=1", "OPENBLAS_MAIN_FREE=1",
          "GOTOBLAS_MAIN_FREE=1"})
      addVariable(Variable);
    PyPreConfig Before;
    find<decltype(PyPreConfig_InitPythonConfig)>(
        "PyPreConfig_InitPythonConfig")(&Before);
    Before.coerce_c_locale = 0; // it calls setenv(); UTF-8 mode does the rest
    PyStatus Status =
        find<decltype(Py_PreInitialize)>("Py_PreInitialize")(&Before);
    // The versions' PyConfig differ in size, and in all fields but the first.
    union {
      PyConfig Config;
      char Room[4096];
    };
    auto *Failed = find<decltype(PyStatus_Exception)>("PyStatus_Exception");
    if (!Failed(Status))
      find<void(const wchar_t *)>("Py_SetProgramName")(
          find<decltype(Py_DecodeLocale)>("Py_DecodeLocale")(Program.c_str(),
                                                             nullptr));
    find<decltype(PyConfig_InitPythonConfig)>("PyConfig_InitPythonConfig")(
        &Config);
    Config.install_signal_handlers = 0; // one of the first
    if (!Failed(Status))
      Status = find<decltype(Py_InitializeFromConfig)>(
          "Py_InitializeFromConfig")(&Config);
    find<decltype(PyConfig_Clear)>("PyConfig_Clear")(&Config);
    if (Failed(Status))
      return Status.err_msg ? Status.err_msg : "no reason";
    find<void *()>("PyEval_SaveThread")(); // give up the GIL
    return "";
  }
  /// Runs a program with global names of its own: `__main__` is the host's.
  /// Returns false if it raises.
  bool run(const std::string &Text) const {
    const int State = find<int()>("PyGILState_Ensure")();
    PyObject *Globals = find<PyObject *()>("PyDict_New")();
    PyObject *Code = find<PyObject *(const char *, const char *, int)>(
        "Py_CompileString")(Text.c_str(), "<passpilot>", Py_file_input);
    PyObject *Result =
        Globals && Code ? find<PyObject *(PyObject *, PyObject *, PyObject *)>(
                              "PyEval_EvalCode")(Code, Globals, Globals)
                        : nullptr;
    const bool Good = Result;
    find<void()>("PyErr_Clear")();
    for (PyObject *Object : {Globals, Code, Result})
      find<void(PyObject *)>("Py_DecRef")(Object);
    find<void(int)>("PyGILState_Release")(State);
    return Good;
  }
  /// Gives up the GIL; returns null if this thread does not hold it.
  void *giveUpGIL() const {
    return runs() && find<int()>("PyGILState_Check")()
               ? find<void *()>("PyEval_SaveThread")()
               : nullptr;
  }
  void takeGIL(void *State) const {
    find<void(void *)>("PyEval_RestoreThread")(State);
  }

private:
  void *Library;

  template <typename Function> Function *find(const char *Name) const {
    return reinterpret_cast<Function *>(dlsym(Library, Name));
  }
};

/// Fills in the module's calls.
bool connect(const Interpreter &Running, Messages &Report) {
  if (!Running.run(connection(Report)) && Report.empty())
    Report.push_back({"error",
                      "passpilot: expected Python's own modules ctypes "
                      "and importlib, got an error at their import; "
                      "look at PYTHONHOME and PYTHONPATH"});
  return Report.empty();
}

bool start(Messages &Report) {
  Interpreter Present(RTLD_DEFAULT); // if the host is Python, or embeds it
  if (Present.runs())
    return connect(Present, Report);
  const Installation Python = installation();
  void *Library = openLibrary(Python);
  if (!Library) {
    Report.push_back({"error", "passpilot: expected libpython" +
                                   Python.Version +
                                   ".so.1.0 for runners and passes in Python, "
                                   "got none; sudo apt-get install libpython" +
                                   Python.Version});
    return false;
  }
  Interpreter Ours(Library);
  if (const std::string Why = Ours.start(Python.Program.string());
      !Why.empty()) {
    Report.push_back({"error", "passpilot: expected " +
                                   Python.Program.string() +
                                   " to start, got: " + Why +
                                   "; look at PYTHONHOME and PYTHONPATH"});
    return false;
  }
  return connect(Ours, Report);
}

std::atomic<bool> Started = false;

} // namespace

/// Held while the interpreter starts. A process may load several of our
/// libraries, each with a copy of this file: the loader gives them one lock, as
/// its symbol is unique, which clang has no other way to say.
extern "C" {
__attribute__((visibility("default"))) extern std::mutex passpilot_python_start;
}
static_assert(sizeof(std::mutex) <= 64); // unlocked, all its bytes are zero
asm(".pushsection .bss\n"
    ".balign 16\n"
    ".type passpilot_python_start, @gnu_unique_object\n"
    ".size passpilot_python_start, 64\n"
    "passpilot_python_start: .zero 64\n"
    ".popsection");

GivenUpGIL::GivenUpGIL() : State(Interpreter(RTLD_DEFAULT).giveUpGIL()) {}

GivenUpGIL::~GivenUpGIL() {
  if (State)
    Interpreter(RTLD_DEFAULT).takeGIL(State);
}

const PythonCalls *startedPython(Messages &Report) {
  if (Started)
    return LibraryModule.Calls;
  static Messages Failure; // reported to every caller
  GivenUpGIL Given;        // the owner of the lock imports our packages
  std::lock_guard<std::mutex> Lock(passpilot_python_start);
  if (!Started && Failure.empty()) {
    Started = start(Failure);
    if (Started)
      std::atexit([] {
        if (Interpreter(RTLD_DEFAULT).runs()) // a host may finalize it
          LibraryModule.Calls->End(nullptr);
      });
  }
  Report.insert(Report.end(), Failure.begin(), Failure.end());
  return Started ? LibraryModule.Calls : nullptr;
}

bool pythonRuns() { return Started && Interpreter(RTLD_DEFAULT).runs(); }

std::string pluginFolder() {
  Dl_info Info;
  dladdr(reinterpret_cast<void *>(&pluginFolder), &Info);
  std::error_code Ignored;
  return fs::canonical(Info.dli_fname, Ignored).parent_path().string();
}

std::string onnxLibrary() {
  const fs::path Folder =
      fs::path(pluginFolder()).parent_path().parent_path() / "onnxruntime/capi";
  std::string Found;
  std::error_code Ignored; // then there is no more entry
  for (fs::directory_iterator Entry(Folder, Ignored), End; Entry != End;
       Entry.increment(Ignored))
    if (Entry->path().filename().string().rfind("libonnxruntime.so", 0) == 0)
      Found = std::max(Found, Entry->path().string());
  return Found;
}

} // namespace passpilot
