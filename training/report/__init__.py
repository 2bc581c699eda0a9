# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot report`: one HTML page about decision logs, searches and evaluations; `page/` has its parts."""
