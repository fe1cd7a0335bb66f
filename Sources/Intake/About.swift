// Intake: the events socket: sessions, admission, answers.
//
// May import: Bytes, Time, JSON, HTTP1, Posix, Reactor, Gates, Queue.
