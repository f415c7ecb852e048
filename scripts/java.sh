#!/usr/bin/env bash
# Sees to a Java that Spark runs on, 17 or later. Where there is none it installs Debian's, if it may.
set -euo pipefail

found() {
    local java=${JAVA_HOME:+$JAVA_HOME/bin/}java version
    version=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p') || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

if found; then exit 0; fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
    echo "installing Java 17 for the tests of Spark"
    export DEBIAN_FRONTEND=noninteractive
    install=("${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends openjdk-17-jre-headless)
    "${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update --quiet --quiet && "${install[@]}" >/dev/null; } || true
fi
found || { echo "Spark needs Java 17 or later, and it could not be installed here: on Debian, apt-get install openjdk-17-jre-headless" >&2; exit 1; }
