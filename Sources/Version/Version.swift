/// The version of uplinkd.
package enum Version {
    /// As users see it.
    package static let text = "0.1.0"
    /// The `User-Agent` of the daemon's requests.
    package static let userAgent = "uplinkd/" + text
}
