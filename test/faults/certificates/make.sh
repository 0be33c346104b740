#!/bin/sh
# Makes the certificates of the tests anew: sh make.sh, with openssl at hand.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir "$work/issued"
: > "$work/index"
echo 01 > "$work/serial"
cat > "$work/ca.cnf" <<END
[ca]
default_ca = here
[here]
dir = $work
new_certs_dir = $work/issued
database = $work/index
serial = $work/serial
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
END
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }
request() { openssl req -new -key host.key -subj "/CN=$1" -addext "subjectAltName=$2" -out "$work/request"; }
sign() {
  openssl ca -batch -notext -config "$work/ca.cnf" -cert authority.crt -keyfile "$work/authority.key" \
    -in "$work/request" -startdate "$1" -enddate "$2" -out "$3" 2> "$work/log" || { cat "$work/log"; exit 1; }
}
new_key "$work/authority.key"
new_key host.key
openssl req -x509 -new -key "$work/authority.key" -subj '/CN=inf-gw tests' -days 36500 \
  -addext 'keyUsage=critical,keyCertSign' -out authority.crt
here='IP:127.0.0.1,DNS:localhost'
request localhost "$here" && sign 20250101000000Z 21240101000000Z valid.crt
request localhost "$here" && sign 20240101000000Z 20240201000000Z expired.crt
request elsewhere DNS:elsewhere.invalid && sign 20250101000000Z 21240101000000Z wrong-name.crt
openssl req -x509 -newkey rsa:2048 -nodes -days 36500 -subj /CN=rsa -addext "subjectAltName=$here" \
  -keyout rsa.key -out rsa.crt 2> "$work/log"
openssl req -x509 -new -key host.key -subj '/CN=localhost' -addext "subjectAltName=$here" -days 36500 -out unknown.crt
