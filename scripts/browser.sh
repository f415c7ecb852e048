#!/usr/bin/env bash
# Sees to a Chromium with its driver, for the tests of the report. Where there is none it installs Debian's, if it may.
# Never fails: without a browser those tests are skipped with a message, or fail where CI=true.
set -euo pipefail

found() {
    command -v chromedriver >/dev/null || return 1
    for browser in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$browser" >/dev/null; then return 0; fi
    done
    return 1
}

if found; then exit 0; fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
    echo "installing Chromium and its driver for the tests of the report"
    export DEBIAN_FRONTEND=noninteractive
    install=("${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends chromium chromium-driver)
    "${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update --quiet --quiet && "${install[@]}" >/dev/null; } || true
fi
found || echo "no Chromium with its driver here, and none could be installed: the report's page is not tried in a browser"
