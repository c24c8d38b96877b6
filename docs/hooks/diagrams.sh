#!/usr/bin/env bash
# Draws docs/explanation/diagrams/*.mmd as SVG files beside them (make diagrams). It needs npm, Chromium and the npm
# registry; the site itself is built from the SVG files, without any of these. The last line of each SVG names the hash of
# the text that it was drawn from, and a test compares the two.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=11.17.0
tool=build/mermaid-$version
if [ ! -x "$tool/node_modules/.bin/mmdc" ]; then
    PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund --prefix "$tool" "@mermaid-js/mermaid-cli@$version"
fi
printf '{"executablePath": "%s", "args": ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]}\n' \
    "$(command -v chromium || command -v google-chrome)" >"$tool/browser.json"
for source in docs/explanation/diagrams/*.mmd; do
    picture=${source%.mmd}.svg
    hash=$(sha256sum <"$source" | cut -d ' ' -f 1)
    if ! grep -qs "<!-- $hash -->" "$picture"; then
        "$tool/node_modules/.bin/mmdc" --quiet --puppeteerConfigFile "$tool/browser.json" --theme neutral \
            --backgroundColor white --input "$source" --output "$picture"
        printf '\n<!-- %s -->\n' "$hash" >>"$picture"
        echo "$picture"
    fi
done
