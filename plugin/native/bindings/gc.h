// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows Python's garbage collector the cycles through objects that C++ holds.

#pragma once

#include "nanobind_all.h"

namespace passpilot {

template <typename T> int traverse(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  int Stop = 0;
  if (nb::inst_ready(Self))
    nb::inst_ptr<T>(Self)->eachObject([&](nb::object &O) {
      if (!Stop && O.is_valid())
        Stop = visit(O.ptr(), arg);
    });
  return Stop;
}

template <typename T> int clear(PyObject *Self) {
  nb::inst_ptr<T>(Self)->eachObject([](nb::object &O) { O.reset(); });
  return 0;
}

/// The type slots of a class whose eachObject() calls a function with each
/// Python object that it owns.
template <typename T>
inline PyType_Slot GCSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse<T>)},
    {Py_tp_clear, reinterpret_cast<void *>(clear<T>)},
    {0, nullptr}};

} // namespace passpilot
