#!/bin/sh
set -eu

exec agent "$@"   # run
