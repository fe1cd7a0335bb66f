// Configuration: the file and its drop-ins, typed values with provenance, problems with line and column.
//
// May import: Bytes, Time, Posix.
