package import Reachability
package import Time

/// What a status request shows of a destination's delivery.
package struct DestinationStatus: Sendable, Equatable {
    /// The last answer that was no success, or the last failure.
    package struct LastError: Sendable, Equatable {
        /// Nil where no answer came.
        package let status: Int?
        /// At most 2 KiB; empty where the answer said no more than its status.
        package let detail: String
        package let location: String?
        package let at: Instant
    }

    package internal(set) var isThrottled = false
    package internal(set) var isHeld = false
    package internal(set) var isPaused = false
    /// Why it is held, throttled, paused or waits for storage; `none` otherwise.
    package internal(set) var reason = StateReason.none
    /// Tries since the last success.
    package internal(set) var attempts = 0
    package internal(set) var lastSuccess: Instant?
    package internal(set) var lastError: LastError?
    /// Since when its certificate was refused at each try that got to see one; nil where it was not the last time.
    package internal(set) var certificateRefusedSince: Instant?
    /// When it tries again by itself; nil where it need not, or waits for reachability.
    package internal(set) var nextAttempt: Instant?
}
