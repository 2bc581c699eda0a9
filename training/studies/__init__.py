# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What searches and trainings keep: trials in study files, and compilations in the user's cache."""
