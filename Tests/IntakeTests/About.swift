// Tests of Intake.
