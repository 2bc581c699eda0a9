// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "advice.h"

#include "nanobind_all.h"

#include <limits>

namespace passpilot {

namespace {

const int64_t OutOfRange = -1; // outside of every domain of integers

bool readInteger(PyObject *Value, const Domain &D, Advice &A) {
  int Overflow = 0;
  const long long X = PyLong_AsLongLongAndOverflow(Value, &Overflow);
  if (D.Kind != DomainKind::Number) {
    A.Integer = Overflow ? OutOfRange : X;
    return true;
  }
  A.Number = Overflow ? PyLong_AsDouble(Value) : static_cast<double>(X);
  if (Overflow && PyErr_Occurred()) { // beyond the range of double
    PyErr_Clear();
    A.Number = std::numeric_limits<double>::quiet_NaN();
  }
  return true;
}

/// The Python number in a numpy scalar or an array of one element, also one of
/// the standard library; an invalid object if there is none.
nb::object itemOf(PyObject *Value) {
  nb::object Item;
  if (PyObject_HasAttrString(Value, "item"))
    Item = nb::steal(PyObject_CallMethod(Value, "item", nullptr));
  else if (PyObject_CheckBuffer(Value) && !PyBytes_Check(Value) &&
           !PyByteArray_Check(Value) && !PyMemoryView_Check(Value) &&
           PySequence_Size(Value) == 1)
    Item = nb::steal(PySequence_GetItem(Value, 0));
  PyErr_Clear();
  return Item;
}

/// Reads an int, or what a domain takes beside it.
bool readNumber(PyObject *Value, const Domain &D, Advice &Answer) {
  if (PyBool_Check(Value)) {
    Answer.Integer = Value == Py_True;
    return D.Kind == DomainKind::Flag;
  }
  if (PyLong_Check(Value))
    return readInteger(Value, D, Answer);
  if (D.Kind != DomainKind::Number || !PyFloat_Check(Value))
    return false;
  Answer.Number = PyFloat_AsDouble(Value);
  return true;
}

} // namespace

bool readAdvice(PyObject *Value, const Domain &D, Advice &Answer) {
  if (readNumber(Value, D, Answer))
    return true;
  if (PyLong_Check(Value) || PyFloat_Check(Value))
    return false;
  const nb::object Item = itemOf(Value);
  return Item.is_valid() && readNumber(Item.ptr(), D, Answer);
}

} // namespace passpilot
