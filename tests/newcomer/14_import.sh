# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A policy as ml-compiler-opt saves it, here one of random weights, decides in a compilation without TensorFlow.
pip install -q "passpilot[tensorflow]"
cat >saved.py <<'END'
import tensorflow as tf

NAMES = ("callee_basic_block_count", "callsite_height", "node_count", "cost_estimate")
tf.random.set_seed(1)
module = tf.Module()
module.first, module.last = tf.Variable(tf.random.normal([8, 16])), tf.Variable(tf.random.normal([16, 2]))


@tf.function(
    input_signature=[
        {name: tf.TensorSpec([1], tf.int64, name=name) for name in NAMES},
        tf.TensorSpec([1], tf.int32, name="step_type"),
        tf.TensorSpec([1], tf.float32, name="reward"),
        tf.TensorSpec([1], tf.float32, name="discount"),
    ]
)
def action(observation, step_type, reward, discount):
    bounds = [float(2**n) for n in range(12)]
    places = [tf.raw_ops.Bucketize(input=observation[name], boundaries=bounds) for name in NAMES]
    columns = [tf.cast(place, tf.float32) / 12 for place in places]
    x = tf.stack([*columns, *(column * column for column in columns)], -1)
    return {"inlining_decision": tf.argmax(tf.nn.relu(x @ module.first) @ module.last, -1)}


module.action = action
tf.saved_model.save(module, "policy", signatures={"action": action})
converter = tf.lite.TFLiteConverter.from_saved_model("policy", signature_keys=["action"])
open("policy.tflite", "wb").write(converter.convert())
END
python saved.py
passpilot import policy -o model.onnx 2>&1 | tee import.txt
grep '4 features of inline' import.txt
grep 'on 10000 of 10000 random observations' import.txt
passpilot import policy.tflite -o light.onnx
passpilot opt prog.bc -Oz --inline=onnx:model.onnx --log=saved.log -o saved.bc
passpilot opt prog.bc -Oz --inline=onnx:light.onnx --log=light.log -o light.bc
cmp saved.bc light.bc
passpilot log show saved.log | head
passpilot aot model.onnx -o model.so
clang-22 -Oz -c prog.c -fpass-plugin="$(passpilot plugin-path)" -mllvm -passpilot-inline=aot:model.so -o prog.o
clang-22 main.c prog.o -o main
./main
