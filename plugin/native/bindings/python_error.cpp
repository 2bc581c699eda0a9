// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python_error.h"

namespace passpilot {

nb::str text(const std::string &S) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
      S.data(), static_cast<Py_ssize_t>(S.size()), "replace"));
}

void setError(const char *Name, const std::string &Text) {
  nb::object Type = nb::module_::import_("passpilot.plugin.errors").attr(Name);
  PyErr_SetObject(Type.ptr(), text(Text).ptr());
}

void raiseError(const char *Name, const std::string &Text) {
  setError(Name, Text);
  throw nb::python_error();
}

/// An object that cannot be shown is named by its type alone.
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
