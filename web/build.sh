#!/usr/bin/env bash
# Makes what the live page has from others: master/live/static/vendor/tsshogi.js, with its licence. Needs Node.js 20; run
# it once a version (web/package.json), and commit what it makes. Nothing of it is needed to run or to test Gougi.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --no-fund --no-audit
esbuild=(node_modules/@esbuild/*/bin/esbuild)
"${esbuild[0]}" entry.mjs --bundle --format=esm --minify --target=es2020 --outfile=../master/live/static/vendor/tsshogi.js
cp node_modules/tsshogi/LICENSE ../master/live/static/vendor/tsshogi.LICENSE
