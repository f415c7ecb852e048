#!/usr/bin/env bash
# Run tests of the core with every memory access checked. If a nightly toolchain has Miri, it runs the small tests, since
# it is some hundred times slower than the machine. Otherwise, and with --twin, all tests run on a twin that is built
# without unchecked reads and without vector instructions, and the small tests of the real build run under valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."

# Between them they go through every engine and every unchecked read. Miri rounds powers at random, so that tests which
# compare bits are not for it.
small_tests=(simd:: turns:: job:: paper:: routing:: hard_use::leaves)

if [[ ${1-} != --twin ]] && cargo +nightly miri --version 2>/dev/null; then
    # Rayon's threads outlive the test, which Miri would call a leak; files and clocks are needed by the tests themselves.
    export MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows'
    PROPTEST_CASES=1 cargo +nightly miri test --locked --target-dir target/miri --lib --test rust -- "${small_tests[@]}"
    exit
fi

echo 'Testing the twin without unchecked reads.'
export RUSTFLAGS='--cfg arborshap_checked'
cargo test --locked --target-dir target/checked --lib --test rust
if ! command -v valgrind > /dev/null; then
    echo 'There is no valgrind here: memcheck did not run.'
    exit
fi
unset RUSTFLAGS
echo 'Testing the real thing under memcheck.'
cargo test --locked --lib --test rust --no-run --message-format=json \
    | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' \
    | while read -r tests; do
        PROPTEST_CASES=1 valgrind --quiet --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite \
            "$tests" --test-threads=1 "${small_tests[@]}"
    done
