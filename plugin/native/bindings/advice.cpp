// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "advice.h"

#include <limits>

namespace passpilot {

namespace {

const int64_t OutOfRange = -1; // outside of every domain of integers

template <typename T> bool store(const void *Data, bool Numbers, Advice &A) {
  const T X = *static_cast<const T *>(Data);
  if (Numbers)
    A.Number = static_cast<double>(X);
  else
    A.Integer = X > 0 && static_cast<unsigned long long>(X) > INT64_MAX
                    ? OutOfRange
                    : static_cast<int64_t>(X);
  return true;
}

/// Reads one element of buffer-protocol type \p Type.
bool readElement(char Type, const void *Data, const Domain &D, Advice &A) {
  const bool Numbers = D.Kind == DomainKind::Number;
  switch (Type) {
  case '?':
    return D.Kind == DomainKind::Flag && store<unsigned char>(Data, false, A);
  case 'b':
    return store<signed char>(Data, Numbers, A);
  case 'B':
    return store<unsigned char>(Data, Numbers, A);
  case 'h':
    return store<short>(Data, Numbers, A);
  case 'H':
    return store<unsigned short>(Data, Numbers, A);
  case 'i':
    return store<int>(Data, Numbers, A);
  case 'I':
    return store<unsigned>(Data, Numbers, A);
  case 'l':
  case 'q':
    return store<long long>(Data, Numbers, A);
  case 'L':
  case 'Q':
    return store<unsigned long long>(Data, Numbers, A);
  case 'f':
    return Numbers && store<float>(Data, true, A);
  case 'd':
    return Numbers && store<double>(Data, true, A);
  default:
    return false;
  }
}

bool readBuffer(PyObject *Value, const Domain &D, Advice &A) {
  if (!PyObject_CheckBuffer(Value) || PyBytes_Check(Value) ||
      PyByteArray_Check(Value) || PyMemoryView_Check(Value))
    return false;
  Py_buffer View;
  if (PyObject_GetBuffer(Value, &View, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return false;
  }
  const char *F = View.format ? View.format : "B";
  const bool Good = View.len == View.itemsize && F[0] && !F[1] &&
                    readElement(*F, View.buf, D, A);
  PyBuffer_Release(&View);
  return Good;
}

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

} // namespace

bool readAdvice(PyObject *Value, const Domain &D, Advice &Answer) {
  if (PyBool_Check(Value)) {
    Answer.Integer = Value == Py_True;
    return D.Kind == DomainKind::Flag;
  }
  if (PyLong_Check(Value))
    return readInteger(Value, D, Answer);
  if (D.Kind == DomainKind::Number && PyFloat_Check(Value)) {
    Answer.Number = PyFloat_AsDouble(Value);
    return true;
  }
  return readBuffer(Value, D, Answer);
}

} // namespace passpilot
