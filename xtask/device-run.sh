#!/usr/bin/env bash
# Runs a bundle of `cargo xtask device-bundle` on a machine with a GPU: the device tests, the examples and the rates beside
# PyTorch's. Usage: device-run.sh wgpu|cuda [SIZE]; run it in the bundle's folder.
set -u
device=$1 size=${2:-26}
here=$(cd "$(dirname "$0")" && pwd)
export NUMR_REQUIRE=$device NUMR_DEVICES=$device XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
failed=0
step() {
    echo "== $*"
    timeout 400 "$@" 2>&1 | tail -n "${LINES_KEPT:-40}"
    [ "${PIPESTATUS[0]}" -eq 0 ] || { failed=$((failed + 1)); echo "== FAILED: $1"; }
}
"$here/devices"
[ -e "$here/numr-$device-tests" ] && step "$here/numr-$device-tests"
LINES_KEPT=60 step "$here/suite" grid primitives properties gradients cases_of_the_ops --test-threads 8 --nocapture
step "$here/digits" --device "$device"
for example in tour hessian fuse custom_gradient; do step "$here/$example"; done
step "$here/rates" --device "$device" --size "$size"
python3 "$here/torch_rates.py" "$size"
echo "failed: $failed"
exit $failed
