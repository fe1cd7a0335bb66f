#if DEBUG
    extension Queue {
        /// So many settlements go unchecked after each that is checked.
        private static let settlementsUnchecked = 31
        /// Of how many events a check reads, at most.
        private static let eventsChecked: UInt64 = 256

        /// Checks that what is queued for each destination is what can be read.
        ///
        /// From a cursor on, every event up to the newest is a record or is told to be none, without a gap.
        func assertLedger() {
            for (key, cursor) in cursors {
                guard let log = logs[key.log], log.unrecovered == nil else { continue }
                let state = cursor.state
                precondition(state.low - 1 - state.origin == state.ledger.total, "a ledger does not add up")
                precondition(state.low <= log.last + 1, "a cursor is beyond its log")
                check(log, from: state.low)
            }
        }

        func assertLedgerNowAndThen() {
            settlementsUnchecked = settlementsUnchecked == 0 ? Self.settlementsUnchecked : settlementsUnchecked - 1
            if settlementsUnchecked == 0 { assertLedger() }
        }

        private func check(_ log: LogState, from low: UInt64) {
            let failedRead = log.failedRead
            defer { log.failedRead = failedRead }
            var next = low
            let end = min(log.last, low + Self.eventsChecked)
            while next <= end {
                guard let index = index(holding: next, in: log), next <= log.end(of: index) else { return }
                var builder = ChunkBuilder(limit: window.step, expiry: .never)
                let through = min(end, log.end(of: index))
                guard (try? fill(&builder, log, index, from: next, through: through, limit: builder.limit)) != nil
                else { return }
                let told = builder.records.map { $0.sequence...$0.sequence } + builder.disposed.map(\.sequences)
                for range in told.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                    precondition(
                        range.lowerBound == next, "event \(next) of \(log.name.text) cannot be read or told of")
                    next = range.upperBound + 1
                }
                precondition(!told.isEmpty, "event \(next) of \(log.name.text) is nowhere")
            }
        }
    }
#endif
