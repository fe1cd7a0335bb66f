// Tests of Gates.
