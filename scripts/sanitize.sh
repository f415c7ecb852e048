#!/usr/bin/env bash
# Run the Rust tests under AddressSanitizer and ThreadSanitizer, which need a nightly toolchain; the latter also needs the
# standard library's sources, to instrument it too.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
export PROPTEST_CASES=${PROPTEST_CASES-15}

if ! rustc +nightly --version; then
    echo 'There is no nightly toolchain here: no sanitizer can run.'
    exit 1
fi
RUSTFLAGS=-Zsanitizer=address \
    cargo +nightly test --locked --target "$target" --target-dir target/asan --lib --test rust
if [[ ! -d $(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library ]]; then
    echo 'The nightly toolchain lacks rust-src: ThreadSanitizer did not run.'
    exit 1
fi
# Every test that calls with several threads.
RUSTFLAGS=-Zsanitizer=thread \
    cargo +nightly test --locked -Zbuild-std --target "$target" --target-dir target/tsan --lib --test rust -- \
    turns:: determinism:: hard_use:: backgrounds::
