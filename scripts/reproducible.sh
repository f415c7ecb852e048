#!/usr/bin/env bash
# Build the wheel twice, from two copies of the committed sources in different places, and compare the bytes.
# What it takes: the same toolchain and Cargo.lock, no paths of the builder in the module, and one date for all files.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

for build in one another; do
    mkdir -p "$work/$build/sources"
    git archive HEAD | tar -x -C "$work/$build/sources"
    cargo_home=${CARGO_HOME:-$HOME/.cargo}
    rust_flags="--remap-path-prefix=$work/$build/sources=/arborshap --remap-path-prefix=$cargo_home=/cargo"
    (cd "$work/$build/sources" \
        && RUSTFLAGS=$rust_flags CARGO_TARGET_DIR="$work/$build/target" \
            "$root/.venv/bin/maturin" build --locked --release --quiet --out "$work/$build/wheel")
done
sha256sum "$work"/*/wheel/*.whl | sed "s|$work/||"
cmp "$work"/one/wheel/*.whl "$work"/another/wheel/*.whl && echo 'Both wheels are the same, byte for byte.'
