// Tests of SystemdService.
