// Tests of Tidy.
