#!/bin/sh
# Rebuild vega.min.js, LICENCES.txt and bundle.json from package-lock.json. `--check` only compares with what is here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$here/entry.js" "$here/build.js" "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --silent
node build.js
for name in vega.min.js LICENCES.txt bundle.json; do
    if [ "${1:-}" = --check ]; then
        cmp "$name" "$here/$name"
    else
        cp "$name" "$here/$name"
    fi
done
