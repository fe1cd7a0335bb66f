// Tests of Resolver.
