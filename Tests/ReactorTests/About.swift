// Tests of Reactor.
