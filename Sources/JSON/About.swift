// JSON: checks, walks and writes JSON (RFC 8259) as bytes; never builds a tree of an event.
//
// May import: Bytes.
