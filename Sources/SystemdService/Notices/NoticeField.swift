/// A field of a journal entry; the raw values are what `journalctl FIELD=VALUE` looks for.
package enum NoticeField: String, Sendable, CaseIterable {
    case destination = "UPLINK_DESTINATION"
    case state = "UPLINK_STATE"
    case previousState = "UPLINK_PREVIOUS_STATE"
    /// As in `reason` of the status.
    case reason = "UPLINK_REASON"
    /// Free text; remote text is escaped and cut.
    case detail = "UPLINK_DETAIL"
    /// An event's id.
    case event = "UPLINK_EVENT"
    /// The status of an answer.
    case status = "UPLINK_STATUS"
    /// A number of events.
    case events = "UPLINK_EVENTS"
    /// A number of things that are not events.
    case count = "UPLINK_COUNT"
    case bytes = "UPLINK_BYTES"
    case percent = "UPLINK_PERCENT"
    /// Seconds, with a fraction where it matters.
    case seconds = "UPLINK_SECONDS"
    /// A lane, or `consent-` and a consent category.
    case log = "UPLINK_LOG"
    /// A consent category.
    case category = "UPLINK_CATEGORY"
    case file = "UPLINK_FILE"
    /// Bytes from the beginning of the file.
    case offset = "UPLINK_OFFSET"
    /// The first event id or sequence number of a range.
    case first = "UPLINK_FIRST"
    case last = "UPLINK_LAST"
    /// The positive number.
    case errno = "ERRNO"
    /// `file:line:column`.
    case place = "UPLINK_PLACE"
    case version = "UPLINK_VERSION"
    case connectionType = "UPLINK_CONNECTION_TYPE"
    case previousConnectionType = "UPLINK_PREVIOUS_CONNECTION_TYPE"
    /// The name of a setting.
    case setting = "UPLINK_SETTING"
    /// How many notices this one stands for: itself, and those like it since the last that was written.
    case repeated = "UPLINK_REPEATED"
    /// How long ago it was so, where that is a second or more; whole seconds.
    case heldBack = "UPLINK_HELD_BACK"
}
