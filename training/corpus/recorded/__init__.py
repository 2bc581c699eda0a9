# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a build compiles and links: recording it, and making a corpus of the recording."""
