// HTTP1: the head, bodies and answers of HTTP/1.1 (RFC 9112) and problem details (RFC 9457), as bytes.
//
// May import: Bytes, JSON.
