// Tests of HTTPTransport.
