#!/usr/bin/env bash
# Makes sure that there is a Java for Spark, 17 or later. If there is none, installs Debian's if that is allowed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

found() {
    local java=${JAVA_HOME:+$JAVA_HOME/bin/}java version
    version=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p') || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

if found; then exit 0; fi
echo "there is no Java 17 for the tests of Spark: installing it if possible"
debian_install openjdk-17-jre-headless || true
found || { echo "Spark needs Java 17 or later, and it could not be installed here: on Debian, apt-get install openjdk-17-jre-headless" >&2; exit 1; }
