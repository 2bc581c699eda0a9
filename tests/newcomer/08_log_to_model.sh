# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From decisions to a model in the compiler: log, fit, export, compile, compare.
passpilot compare prog.bc --inline=random:1 --inline=random:2 --repeat=0 --log=logs/ -o teachers.txt
cat >train.py <<'PY'
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.tree import DecisionTreeClassifier

import passpilot

names = [spec.name for spec in passpilot.find_point("inline").features]
logs = [passpilot.read_log(path) for path in sorted(Path("logs").rglob("*.log"))]
arrays = [log.to_arrays([*names, "inlining_default"]) for log in logs]
rows = [np.hstack([each[name] for name in names]).astype(np.float32) for each in arrays]
x, y = np.vstack(rows), np.vstack([each["inlining_default"] for each in arrays]).ravel()
model = to_onnx(DecisionTreeClassifier().fit(x, y), x[:1], options={"zipmap": False})
passpilot.name_columns(model, names)
Path("model.onnx").write_bytes(model.SerializeToString())
PY
python train.py
passpilot aot model.onnx -o model.so --output=label
passpilot compare prog.bc --inline='onnx:model.onnx?output=label' --inline=aot:model.so --csv -o table.csv
grep -c 'onnx:model.onnx' table.csv
