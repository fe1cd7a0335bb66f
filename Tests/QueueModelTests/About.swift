// Tests of QueueModel.
