// Tests of Control.
