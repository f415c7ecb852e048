#!/bin/sh
# Lists the CPython interpreters (3.11 or later) on this machine that really work here, one per minor version, as
# lines of "version path", the oldest first. With --main, prints only the path of the one to work with: what `python3`
# means to the user if that will do, otherwise the newest. With --newest or --oldest, prints only the path of that one.
#
# Every candidate is run before it is believed: a pyenv shim may exist and still refuse to start in this directory,
# and a distribution's Python may lack ensurepip, without which it cannot make virtual environments.
set -eu

probe='
import sys, sysconfig, ensurepip, venv
assert sys.implementation.name == "cpython" and sys.version_info >= (3, 11)
assert sys.version_info.releaselevel == "final"
assert sys.prefix == sys.base_prefix                    # a virtual environment comes and goes
assert not sysconfig.get_config_var("Py_GIL_DISABLED")  # the abi3 wheel is not for free-threaded builds
print(sys.version_info.minor, sys.version_info.micro, sys.executable)
'

candidates() {
    # Every directory of PATH, not only the first hit: a broken shim must not hide a working interpreter behind it.
    printf '%s\n' "$PATH" | tr ':' '\n' | while IFS= read -r directory; do
        ls -d "${directory:-.}"/python3 "${directory:-.}"/python3.[1-9][0-9] 2>/dev/null || true
    done
    root=${PYENV_ROOT:-$(pyenv root 2>/dev/null || true)}
    [ -z "$root" ] || ls -d "$root"/versions/*/bin/python3 2>/dev/null || true
}

# Of each minor version the latest patch release; of equals, the first found.
interpreters() {
    candidates | while IFS= read -r candidate; do
        "$candidate" -I -c "$probe" 2>/dev/null </dev/null || true
    done | sort -s -k1,1n -k2,2nr | awk '!seen[$1]++ { sub(/ [0-9]+ /, " "); print "3." $0 }'
}

# Prints the path in the first line of its input; an error if there is none.
path() {
    IFS= read -r found || {
        echo "no working CPython 3.11 or later found, neither on PATH nor under pyenv" >&2
        return 1
    }
    echo "${found#* }"
}

case "${1:-}" in
    --main)
        if found=$(python3 -I -c "$probe" 2>/dev/null </dev/null); then
            echo "${found#* * }"
        else
            interpreters | tail -n 1 | path
        fi
        ;;
    --newest) interpreters | tail -n 1 | path ;;
    --oldest) interpreters | head -n 1 | path ;;
    *) interpreters ;;
esac
