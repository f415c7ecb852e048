#!/usr/bin/env bash
# Run the Rust tests on a big-endian machine, s390x, emulated by qemu: files saved elsewhere must be read there, and what
# is saved there must have the same bytes. Needs the target's standard library, a cross compiler and qemu-user; on Debian:
#   rustup target add s390x-unknown-linux-gnu && apt-get install qemu-user gcc-s390x-linux-gnu
set -euo pipefail
cd "$(dirname "$0")/.."
target=s390x-unknown-linux-gnu

if [[ ! -d $(rustc --print sysroot)/lib/rustlib/$target/lib ]]; then
    echo "The standard library for $target is missing: rustup target add $target" >&2
    exit 1
fi
for tool in qemu-s390x s390x-linux-gnu-gcc; do
    if ! command -v "$tool" > /dev/null; then
        echo "There is no $tool here: on Debian, apt-get install qemu-user gcc-s390x-linux-gnu" >&2
        exit 1
    fi
done
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc
# The cross compiler brings its C library in a folder of its own.
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER='qemu-s390x -L /usr/s390x-linux-gnu'
# Emulation is slow, so properties are tried on few cases, and one at a time: some tests must end within a minute.
export PROPTEST_CASES=${PROPTEST_CASES-8}
cargo test --locked --target "$target" --lib --test rust -- --test-threads=1 "$@"
