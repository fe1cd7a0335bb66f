#!/bin/sh
# Makes the certificates that lie beside it: two authorities, and servers signed by the first.
set -eu
cd "$(dirname "$0")"
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -days 36500 \
        -subj "/O=uplinkd tests/CN=$2" -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign"
}
server() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$2"
    printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\n' "$3" > extensions
    shift 3
    openssl x509 -req -in "$name.csr" -CA authority.pem -CAkey authority.key -out "$name.pem" -extfile extensions "$@"
    rm "$name.csr" extensions
}
authority authority "Test Authority"
authority stranger "Another Authority"
name=server
server server collector.test "DNS:collector.test,DNS:localhost,IP:127.0.0.1" -set_serial 1 -days 36500
openssl ec -in server.key -aes128 -passout pass:secret -out encrypted.key
# `openssl x509` signs no dates of the past; `openssl ca` does.
name=expired
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout expired.key -out expired.csr -subj "/CN=collector.test"
mkdir ca
: > ca/index.txt
printf '[ca]\ndefault_ca=c\n[c]\ndir=ca\ndatabase=ca/index.txt\nnew_certs_dir=ca\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:collector.test\n' > ca/ca.cnf
openssl ca -batch -config ca/ca.cnf -cert authority.pem -keyfile authority.key -in expired.csr -out expired.pem \
    -startdate 20200101000000Z -enddate 20210101000000Z -extensions e -notext
rm -r ca expired.csr authority.key stranger.key
