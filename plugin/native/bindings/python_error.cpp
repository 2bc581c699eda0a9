// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python_error.h"

namespace passpilot {

nb::str text(std::string_view S) { return nb::cast<nb::str>(nb::cast(S)); }

void setError(const char *Name, const std::string &Text) {
  nb::object Type = nb::module_::import_("passpilot.plugin.errors").attr(Name);
  PyErr_SetObject(Type.ptr(), text(Text).ptr());
}

void raiseError(const char *Name, const std::string &Text) {
  setError(Name, Text);
  throw nb::python_error();
}

/// Names an object by its type if its repr() fails.
std::string described(nb::handle Value) {
  std::string Type;
  try {
    Type = nb::cast<std::string>(Value.type().attr("__name__"));
    nb::object Text = nb::repr(Value);
    if (PyUnicode_GetLength(Text.ptr()) > 60)
      Text = nb::steal(PyUnicode_Substring(Text.ptr(), 0, 57)) + nb::str("...");
    Text = nb::steal(
        PyUnicode_AsEncodedString(Text.ptr(), "utf-8", "backslashreplace"));
    return (Value.is_none() ? "" : Type + " ") +
           nb::borrow<nb::bytes>(Text).c_str();
  } catch (std::exception &) {
    PyErr_Clear();
    return Type.empty() ? "an object" : Type;
  }
}

} // namespace passpilot
