// Tests of HTTP1.
