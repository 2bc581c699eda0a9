// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nanobind with the type casters of all binding files. Every binding file must
// include this header: casters that differ between files violate the
// one-definition rule.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>

namespace nb = nanobind;

namespace nanobind::detail {

/// Text in both directions. LLVM's names are bytes that need not be UTF-8: such
/// bytes are surrogate escapes in Python, as in names of files.
template <typename Text> struct PassedText {
  NB_TYPE_CASTER(Text, const_name("str"))

  bool from_python(handle Source, uint32_t, cleanup_list *Cleanup) noexcept {
    constexpr bool IsView = std::is_same_v<Text, std::string_view>;
    if (!PyUnicode_Check(Source.ptr()) || (IsView && !Cleanup))
      return false;
    object Bytes = steal(
        PyUnicode_AsEncodedString(Source.ptr(), "utf-8", "surrogateescape"));
    if (!Bytes) {
      PyErr_Clear();
      return false;
    }
    value = Text(PyBytes_AsString(Bytes.ptr()),
                 static_cast<size_t>(PyBytes_Size(Bytes.ptr())));
    if constexpr (IsView)
      Cleanup->append(Bytes.release().ptr()); // lives as long as the call
    return true;
  }

  static handle from_cpp(std::string_view Bytes, rv_policy,
                         cleanup_list *) noexcept {
    return PyUnicode_DecodeUTF8(
        Bytes.data(), static_cast<Py_ssize_t>(Bytes.size()), "surrogateescape");
  }
};

template <> struct type_caster<std::string> : PassedText<std::string> {};
template <>
struct type_caster<std::string_view> : PassedText<std::string_view> {};

} // namespace nanobind::detail
