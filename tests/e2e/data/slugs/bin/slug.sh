#!/bin/sh
# Prints a title in small letters and digits, with one dash for all that is between them.
set -eu

title=$1

slug() {
    tr 'A-Z' 'a-z' | sed -e 's/[^a-z0-9]/-/g'
}

printf '%s\n' "$title" | slug
