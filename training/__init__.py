# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making models: data, trainers, environments. Importing this package registers the environments."""

from passpilot.training.registration import register_when_imported

register_when_imported()
