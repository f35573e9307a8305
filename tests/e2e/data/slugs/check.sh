#!/bin/sh
# The tests of the project: prints how many fail.
set -eu

failed=0
count=0

expect() {
    count=$((count + 1))
    found=$(sh bin/slug.sh "$1")
    if [ "$found" != "$2" ]; then
        failed=$((failed + 1))
        echo "slug '$1': '$found' is not '$2'"
    fi
}

expect 'Hello' 'hello'
expect 'Hello, world' 'hello-world'
expect ' a  b! ' 'a-b'

echo "$failed of $count fail"
[ "$failed" = 0 ]
